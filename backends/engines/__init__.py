"""Engines of the kernel backends: the host side of the kernels, shared by cuda and opencl."""

from __future__ import annotations

import functools
import hashlib
import pkgutil
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from ..base import Engine
from ..kernel_text import FOLDERS

# Modules of engines in order of preference: of equal estimates the first is taken. Other modules of this folder follow,
# and the module "engine" of folders
_MODULES = (
    "transpose",
    "elementwise",
    "conv.cpu.gemm",
    "conv.cpu.channels_last",
    "conv.cpu.transposed",
    "conv.cpu.direct",
    "conv.cpu.depthwise",
    "conv.cpu.direct_filter",
    "conv.cpu.bytes",
    "conv.gemm",
    "conv.direct",
    "conv.depthwise",
    "conv.im2col",
    "conv.atomic",
    "conv.tensor_core",
    "conv.planes",
    "conv.grouped",
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
    "norm.parts",
    "norm.divisive",
    "norm.lrn",
    "pool.tiles",
    "pool.planes",
    "pool.general",
    "grid.affine",
    "grid.sample",
    "rnn.engines",
    "softmax.cluster",
    "softmax.rows",
    "softmax.cpu",
    "softmax.general",
    "dropout",
    "reduce_tensor",
)


@functools.cache
def kernel_engines() -> Sequence[Engine]:
    """Return the engines in order of preference."""
    from .conv.epilogue import then_epilogue

    found = {f"{info.name}.engine" if info.ispkg else info.name for info in pkgutil.iter_modules(__path__)}
    known = (module for module in sorted(found.difference(_MODULES)) if find_spec(f"{__name__}.{module}"))
    modules = (import_module(f"{__name__}.{module}") for module in (*_MODULES, *known))
    engines: tuple[Engine, ...] = tuple(engine for module in modules for engine in getattr(module, "ENGINES", ()))
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
