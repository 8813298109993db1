"""Fused operators of cuDNN 7.6."""
