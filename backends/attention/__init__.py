"""Attention on devices: the graph engine that computes it without ever having all scores in memory."""
