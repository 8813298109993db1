"""Engines of the kernel backends: the host side of the kernels, shared by cuda and opencl."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..base import Engine


@functools.cache
def kernel_engines() -> Sequence[Engine]:
    """Return the engines in order of preference."""
    from . import (
        bias_gradient,
        conv_cpu,
        conv_gemm,
        conv_im2col,
        elementwise,
        pooling,
        softmax,
        softmax_cluster,
        transpose,
    )

    return (
        *transpose.ENGINES,
        *elementwise.ENGINES,
        *conv_cpu.ENGINES,
        *conv_gemm.ENGINES,
        *conv_im2col.ENGINES,
        *bias_gradient.ENGINES,
        *pooling.ENGINES,
        *softmax_cluster.ENGINES,
        *softmax.ENGINES,
    )
