"""Definitions of all operations in NumPy and float64: a module for each family, with a dict ``DEFINITIONS``."""
