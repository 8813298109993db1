"""Engines of the kernel backends: the host side of the kernels, shared by cuda and opencl."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from ..base import Engine
from ..sources import FOLDERS


@functools.cache
def kernel_engines() -> Sequence[Engine]:
    """Return the engines in order of preference."""
    from . import (
        affine_grid,
        bias_gradient,
        conv_atomic,
        conv_cpu,
        conv_depthwise_cpu,
        conv_direct,
        conv_direct_cpu,
        conv_direct_filter_cpu,
        conv_fft,
        conv_gemm,
        conv_im2col,
        conv_tensor_core,
        divisive_norm,
        dropout,
        elementwise,
        grid_sample,
        lrn,
        norm,
        norm_cpu,
        norm_groups_cpu,
        pooling,
        pooling_planes,
        pooling_tiles,
        reduce_tensor,
        rnn_backward,
        rnn_forward,
        rnn_weights,
        softmax,
        softmax_cluster,
        softmax_cpu,
        softmax_rows,
        transpose,
        winograd,
        winograd_cpu,
        winograd_filter_cpu,
        winograd_nonfused,
    )
    from .conv_epilogue import then_epilogue

    engines = (
        *transpose.ENGINES,
        *elementwise.ENGINES,
        *conv_cpu.ENGINES,
        *conv_direct_cpu.ENGINES,
        *conv_depthwise_cpu.ENGINES,
        *conv_direct_filter_cpu.ENGINES,
        *conv_gemm.ENGINES,
        *conv_direct.ENGINES,
        *conv_im2col.ENGINES,
        *conv_atomic.ENGINES,
        *conv_tensor_core.ENGINES,
        *winograd.ENGINES,
        *winograd_cpu.ENGINES,
        *winograd_filter_cpu.ENGINES,
        *winograd_nonfused.ENGINES,
        *conv_fft.ENGINES,
        *bias_gradient.ENGINES,
        *norm_groups_cpu.ENGINES,
        *norm_cpu.ENGINES,
        *norm.ENGINES,
        *divisive_norm.ENGINES,
        *lrn.ENGINES,
        *pooling_tiles.ENGINES,
        *pooling_planes.ENGINES,
        *pooling.ENGINES,
        *affine_grid.ENGINES,
        *grid_sample.ENGINES,
        *rnn_forward.ENGINES,
        *rnn_backward.ENGINES,
        *rnn_weights.ENGINES,
        *softmax_cluster.ENGINES,
        *softmax_rows.ENGINES,
        *softmax_cpu.ENGINES,
        *softmax.ENGINES,
        *dropout.ENGINES,
        *reduce_tensor.ENGINES,
    )
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
