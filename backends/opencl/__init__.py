"""OpenCL backend: devices through PyOpenCL."""

from .device import BACKEND

__all__ = ["BACKEND"]
