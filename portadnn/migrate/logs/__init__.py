"""Logs of cuDNN and of MIOpen, and traces of their calls: ``follow`` reads them."""

from .follow import Listener, Summary, follow, looks_like_log

__all__ = ["Listener", "Summary", "follow", "looks_like_log"]
