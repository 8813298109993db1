"""Recurrent networks by MIOpen's names."""
