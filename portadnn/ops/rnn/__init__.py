"""Recurrent networks: Problems, public functions, layout of weights."""
