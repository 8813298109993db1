"""Convolutions by fast Fourier transforms."""
