"""Convolutions: Problems, public functions, algorithms."""
