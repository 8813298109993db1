"""Convolutions by cuDNN's names."""
