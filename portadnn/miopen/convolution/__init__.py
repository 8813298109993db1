"""Convolutions by MIOpen's names."""
