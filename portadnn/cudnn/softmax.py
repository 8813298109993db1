"""Enumerations of softmax (guide sections 4.57 and 4.58); its functions need no more."""

from __future__ import annotations

from ..enums import SoftmaxAlgorithm, SoftmaxMode
from .calls import Choice

softmax_algorithm = Choice("cudnnSoftmaxAlgorithm_t", SoftmaxAlgorithm)
softmax_mode = Choice("cudnnSoftmaxMode_t", SoftmaxMode)
