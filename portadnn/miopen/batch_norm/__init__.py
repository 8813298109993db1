"""Batch normalization by MIOpen's names."""
