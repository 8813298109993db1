"""``cudnn.experimental`` of cudnn-frontend: operations for PyTorch, in ``ops``."""

from . import ops

__all__ = ["ops"]
