"""Recurrent networks by cuDNN's names."""
