"""Engines of the kernel backends: the host side of the kernels, shared by cuda and opencl."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from ..base import Engine
from ..sources import FOLDERS

# Modules of engines in order of preference: of equal estimates the first is taken
_MODULES = (
    "transpose",
    "elementwise",
    "conv.cpu",
    "conv.direct_cpu",
    "conv.depthwise_cpu",
    "conv.direct_filter_cpu",
    "conv.gemm",
    "conv.direct",
    "conv.im2col",
    "conv.atomic",
    "conv.tensor_core",
    "winograd.fused",
    "winograd.gradient",
    "winograd.cpu",
    "winograd.filter_cpu",
    "winograd.nonfused",
    "fft.engine",
    "bias_gradient",
    "norm.groups_cpu",
    "norm.cpu",
    "norm.gpu",
    "norm.divisive",
    "norm.lrn",
    "pool.tiles",
    "pool.planes",
    "pool.general",
    "grid.affine",
    "grid.sample",
    "rnn.forward",
    "rnn.backward",
    "rnn.weights",
    "softmax.cluster",
    "softmax.rows",
    "softmax.cpu",
    "softmax.general",
    "dropout",
    "reduce_tensor",
    "ctc_loss",
)


@functools.cache
def kernel_engines() -> Sequence[Engine]:
    """Return the engines in order of preference."""
    from .conv.epilogue import then_epilogue

    modules = (import_module(f"{__name__}.{module}") for module in _MODULES)
    engines: tuple[Engine, ...] = tuple(engine for module in modules for engine in module.ENGINES)
    return (*engines, *then_epilogue(engines))


@functools.cache
def kernel_engines_version() -> str:
    """Return a digest of the engines' and kernels' files."""
    digest = hashlib.sha256()
    for package in (__name__, *(f"portadnn_backends.kernels_{folder}" for folder in FOLDERS)):
        folder = Path(str(files(package)))
        for file in sorted(folder.rglob("*")):
            if file.suffix in {".py", ".cl", ".cu", ".h"}:
                digest.update(f"{package}/{file.relative_to(folder)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
