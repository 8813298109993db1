"""HIP backend: AMD's GPUs through CuPy for ROCm."""

from .backend import BACKEND

__all__ = ["BACKEND"]
