"""Measurements; installed as ``portadnn.benchmarks``, so that ``portadnn bench`` can run them."""
