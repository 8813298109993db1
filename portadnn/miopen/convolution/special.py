"""Convolutions of several steps: of bytes, of 8-bit floats, of layouts of vectors. Each has one algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...enums import Status
from ...handle import Handle
from ...ops.convolution.algorithms import AlgoPerf
from ...problem import TensorSpec
from ..generated.enums import miopenConvAlgorithm_t
from . import integers, narrow, vectors
from .descriptor import ConvolutionSettings


def is_special(specs: Sequence[TensorSpec]) -> bool:
    """Tell whether image, filter and result are those of such a convolution."""
    return vectors.of_vectors(specs) or narrow.of_narrow(specs) or integers.of_bytes(specs)


def check(direction: Any, settings: ConvolutionSettings, specs: Sequence[TensorSpec]) -> None:
    """Raise what is wrong with such a convolution; `direction` is one of :mod:`.algorithms`."""
    if vectors.of_vectors(specs):
        vectors.check(direction.name, settings, specs)
    elif narrow.of_narrow(specs):
        narrow.check(direction.name, settings, specs)
    else:
        integers.check(settings, specs, direction.name == "forward")


def only(direction: Any, settings: ConvolutionSettings, specs: Sequence[TensorSpec]) -> AlgoPerf[Any]:
    """Return what Find and immediate mode say of the one algorithm."""
    if not narrow.of_narrow(specs):
        return integers.perf()
    algorithms = direction.computation(settings).algorithms
    algo = algorithms[miopenConvAlgorithm_t.miopenConvolutionAlgoDirect][0]
    return AlgoPerf(algo, Status.SUCCESS, 0.0, 0, True)


def convolve(
    direction: Any, handle: Handle, settings: ConvolutionSettings, specs: Sequence[TensorSpec], arrays: Sequence[Any]
) -> None:
    """Compute such a convolution."""
    if vectors.of_vectors(specs):
        vectors.convolve(handle, settings, specs, arrays)
    elif narrow.of_narrow(specs):
        narrow.convolve(direction, handle, settings, specs, arrays)
    else:
        integers.convolve(handle, settings, specs, arrays)
