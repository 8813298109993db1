"""Logs of cuDNN and of MIOpen, and traces of their calls: ``follow`` reads them."""

from .follow import Listener, Summary, follow

__all__ = ["Listener", "Summary", "follow"]
