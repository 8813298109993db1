"""Engines of the kernel backends: the host side of the kernels, shared by cuda and opencl."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files

from ..base import Engine
from ..sources import FOLDERS

# Modules of engines in order of preference: of equal estimates the first is taken
_MODULES = (
    "transpose",
    "elementwise",
    "conv_cpu",
    "conv_direct_cpu",
    "conv_depthwise_cpu",
    "conv_direct_filter_cpu",
    "conv_gemm",
    "conv_direct",
    "conv_im2col",
    "conv_atomic",
    "conv_tensor_core",
    "winograd",
    "winograd_gradient",
    "winograd_cpu",
    "winograd_filter_cpu",
    "winograd_nonfused",
    "conv_fft",
    "bias_gradient",
    "norm_groups_cpu",
    "norm_cpu",
    "norm",
    "divisive_norm",
    "lrn",
    "pooling_tiles",
    "pooling_planes",
    "pooling",
    "affine_grid",
    "grid_sample",
    "rnn_forward",
    "rnn_backward",
    "rnn_weights",
    "softmax_cluster",
    "softmax_rows",
    "softmax_cpu",
    "softmax",
    "dropout",
    "reduce_tensor",
)


@functools.cache
def kernel_engines() -> Sequence[Engine]:
    """Return the engines in order of preference."""
    from .conv_epilogue import then_epilogue

    modules = (import_module(f"{__name__}.{module}") for module in _MODULES)
    engines: tuple[Engine, ...] = tuple(engine for module in modules for engine in module.ENGINES)
    return (*engines, *then_epilogue(engines))


@functools.cache
def kernel_engines_version() -> str:
    """Return a digest of the engines' and kernels' files."""
    digest = hashlib.sha256()
    for package in (__name__, *(f"portadnn_backends.kernels_{folder}" for folder in FOLDERS)):
        for file in sorted(files(package).iterdir(), key=lambda entry: entry.name):
            if file.name.endswith((".py", ".cl", ".cu", ".h")):
                digest.update(f"{package}/{file.name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
