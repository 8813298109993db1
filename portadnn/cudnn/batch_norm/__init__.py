"""Batch normalization by cuDNN's names."""
