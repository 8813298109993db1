"""Nodes of graphs that have a plain kernel each."""
