"""OpenCL backend: devices through PyOpenCL."""

from .backend import BACKEND

__all__ = ["BACKEND"]
