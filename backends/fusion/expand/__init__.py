"""Expansion of nodes into scalar expressions."""
