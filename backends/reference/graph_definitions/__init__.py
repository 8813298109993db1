"""Definitions of the nodes of graphs, in NumPy."""
