"""Readers of Python, as ``cpp`` reads C++."""
