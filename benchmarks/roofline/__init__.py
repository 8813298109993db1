"""Convolution layers of networks beside the limits of a device: ``portadnn bench conv``."""
