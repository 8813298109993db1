"""Fusion plans: sequences of operations that run as one call."""
