"""Affine grids and grid sampling."""
