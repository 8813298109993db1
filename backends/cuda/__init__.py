"""CUDA backend: devices through CuPy."""

from .backend import BACKEND

__all__ = ["BACKEND"]
