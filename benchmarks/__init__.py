"""Benchmarks: time any problem line on any backend against a peer, alternating, and record what was measured."""
