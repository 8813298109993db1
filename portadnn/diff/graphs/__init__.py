"""Differential testing of graphs."""
