"""Reference backend: every operation in NumPy, written from its definition."""

from .backend import BACKEND

__all__ = ["BACKEND"]
