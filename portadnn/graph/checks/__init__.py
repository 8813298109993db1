"""Validation of graphs against the specification."""
