"""CUDA backend: devices through CuPy."""

from .device import BACKEND

__all__ = ["BACKEND"]
