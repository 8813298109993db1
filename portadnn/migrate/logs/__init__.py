"""Logs of cuDNN and of MIOpen, and traces of their calls: ``follow`` reads them."""

from .follow import Summary, follow

__all__ = ["Summary", "follow"]
