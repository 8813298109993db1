"""Engines of convolutions in space."""
