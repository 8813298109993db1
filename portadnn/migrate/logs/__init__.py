"""Logs of cuDNN and of MIOpen, and traces of their calls."""
