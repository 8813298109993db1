"""cuDNN's backend API."""
