"""What portadnn is measured beside: other backends, PyTorch, cuDNN and its frontend."""
