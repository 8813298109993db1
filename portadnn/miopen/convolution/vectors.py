"""Forward convolutions of layouts of vectors: tensors are copied to NCHW, and the result back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...descriptors import TensorView
from ...dispatch.problems import check_handle
from ...enums import DataType
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...ops.convolution.calls import convolution_forward
from ...ops.tensor import transform_tensor
from ...problem import TensorSpec
from ..vectors import IMAGES, VectorSpec
from .descriptor import ConvolutionSettings, output_dims

_NAMES = ("xDesc", "wDesc", "yDesc")


def of_vectors(specs: Sequence[TensorSpec]) -> bool:
    """Tell whether a tensor of a convolution has a layout of vectors."""
    return any(isinstance(spec, VectorSpec) for spec in specs)


def check(direction: str, settings: ConvolutionSettings, specs: Sequence[TensorSpec]) -> None:
    """Raise what is wrong with a convolution of vectors.

    Raises
    ------
    NotSupported
        A gradient, a transposed convolution, or another type than miopenHalf: MIOpen has none of them either.
    BadParam
        One of the tensors has another layout, or the result other dims.
    """
    if direction != "forward" or settings.transposed:
        raise NotSupported(argument="xDesc", expected="miopenTensorNCHW or miopenTensorNHWC", got="vectors of channels")
    x, w, y = specs
    vector = next(spec.vector for spec in specs if isinstance(spec, VectorSpec))
    for name, spec in zip(_NAMES, specs, strict=True):
        layouts = f"miopenTensorNCHWc{vector}" + (f" or miopenTensorCHWNc{vector}" if spec is w else "")
        if not isinstance(spec, VectorSpec) or spec.vector != vector:
            got = spec.layout.name if isinstance(spec, VectorSpec) else str(spec)
            raise BadParam(argument=name, expected=layouts, got=got)
        if spec is not w and spec.layout not in IMAGES:
            raise BadParam(argument=name, expected=layouts, got=spec.layout.name)
        if spec.dtype is not DataType.HALF:
            raise NotSupported(argument=name, expected="miopenHalf for vectors of channels", got=spec.dtype.name)
    dims = output_dims(settings, x, w)
    if y.dims != dims:
        raise BadParam(argument="yDesc", expected=f"dims {dims}, channels in vectors of {vector}", got=y.dims)


def convolve(handle: Handle, settings: ConvolutionSettings, specs: Sequence[TensorSpec], arrays: Sequence[Any]) -> None:
    """Convolve vectors; arrays are read as :attr:`VectorSpec.unfolded` says."""
    check("forward", settings, specs)
    device = check_handle(handle).device
    plain, flat = [], []
    for spec in specs:
        assert isinstance(spec, VectorSpec)
        memory = device.empty(TensorSpec.packed(spec.dtype, spec.unfolded.dims))
        plain.append(memory)
        flat.append(TensorView(TensorSpec.packed(spec.dtype, spec.logical), memory))
    for array, memory in zip(arrays[:2], plain[:2], strict=True):
        transform_tensor(handle, array, memory)
    convolution_forward(handle, flat[0], flat[1], settings.conv, flat[2])
    transform_tensor(handle, plain[2], arrays[2])
