"""Convolutions of bytes beside another library's: ``python -m benchmarks.integers``.

On an NVIDIA GPU beside cuDNN, by ctypes, with results compared bit by bit; on CPUs beside PyTorch's quantised
convolution, in seconds of the processor. Both sides of a row are timed by turns, and the least of each counts.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import cudnn

SHAPES = (  # images, channels, pixels along a side, filters, taps along a side
    (8, 64, 56, 64, 3),
    (8, 64, 56, 256, 1),
    (8, 128, 28, 128, 3),
    (8, 256, 14, 256, 3),
    (8, 512, 7, 512, 3),
    (8, 1024, 14, 256, 1),
    (64, 128, 28, 128, 3),
    (64, 256, 14, 256, 3),
    (64, 64, 56, 64, 3),
)
LANES = {"INT8": 1, "INT8x4": 4, "INT8x32": 32}
SCALE = 1 / 2048


def laid(array: Any, lanes: int) -> Any:
    """Return bytes with channels last, or in vectors of so many channels."""
    if lanes == 1:
        return np.ascontiguousarray(np.moveaxis(array, 1, -1)).view(np.uint8)
    n, c, h, w = array.shape
    return np.ascontiguousarray(np.moveaxis(array.reshape(n, c // lanes, lanes, h, w), 2, -1)).view(np.uint8)


def descriptors(get: Callable[[str], Any], kind: str, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return those of x, w, y and the convolution, by the functions that `get` finds."""
    n, c, size, k, taps = shape
    layout, number = 1 if LANES[kind] == 1 else 2, getattr(cudnn, f"CUDNN_DATA_{kind}")
    made = [get(f"cudnnCreate{what}Descriptor")() for what in ("Tensor", "Filter", "Tensor", "Convolution")]
    get("cudnnSetTensorNdDescriptorEx")(made[0], layout, number, 4, (n, c, size, size))
    get("cudnnSetFilterNdDescriptor")(made[1], number, layout, 4, (k, c, taps, taps))
    get("cudnnSetTensorNdDescriptorEx")(made[2], layout, number, 4, (n, k, size, size))
    get("cudnnSetConvolution2dDescriptor")(made[3], taps // 2, taps // 2, 1, 1, 1, 1, 1, 4)
    return tuple(made)


class Ours:
    """portadnn's call."""

    def __init__(self, handle: dnn.Handle, kind: str, x: Any, w: Any, shape: tuple[int, ...]) -> None:
        n, _, size, k, _ = shape
        self.handle, lanes = handle, LANES[kind]
        given = [handle.device.asarray(laid(one, lanes).ravel()) for one in (x, w)]
        self.y = handle.device.asarray(np.zeros(n * k * size * size, np.uint8))
        x_desc, w_desc, y_desc, conv = descriptors(functools.partial(getattr, cudnn), kind, shape)
        first = handle, SCALE, x_desc, given[0], w_desc, given[1], conv, 1, None, 0
        self.call = functools.partial(cudnn.cudnnConvolutionForward, *first, 0, y_desc, self.y)

    def result(self) -> Any:
        """Make the call and return y's bytes."""
        self.call()
        return np.ascontiguousarray(self.handle.to_numpy(self.y))


class Real:
    """NVIDIA's."""

    def __init__(self, connection: Any, kind: str, x: Any, w: Any, shape: tuple[int, ...]) -> None:
        from tests.beside_cudnn.real import functions

        get, cupy, lanes = functions(connection.library), connection.cupy, LANES[kind]
        n, _, size, k, _ = shape
        given = [cupy.asarray(laid(one, lanes)) for one in (x, w)]
        self.y = cupy.zeros(n * k * size * size, np.uint8)
        x_desc, w_desc, y_desc, conv = descriptors(get, kind, shape)
        numbers = np.array([SCALE], np.float32), np.array([0], np.float32)
        alpha, beta = (ctypes.c_void_p(one.ctypes.data) for one in numbers)
        size = get("cudnnGetConvolutionForwardWorkspaceSize")(connection.handle, x_desc, w_desc, conv, y_desc, 1)
        room = cupy.zeros(max(size, 16), np.uint8)
        first = connection.handle, alpha, x_desc, given[0].data.ptr, w_desc, given[1].data.ptr, conv, 1
        last = room.data.ptr, size, beta, y_desc, self.y.data.ptr
        self.kept = numbers, given, room
        self.call = functools.partial(get("cudnnConvolutionForward"), *first, *last)

    def result(self) -> Any:
        """Make the call and return y's bytes."""
        self.call()
        return self.y.get()


class Torch:
    """PyTorch's quantised convolution, of UINT8 by INT8, as its engines for CPUs have it."""

    def __init__(self, x: Any, w: Any, shape: tuple[int, ...]) -> None:
        import torch

        torch.set_num_threads(1)
        size, taps = shape[2], shape[4]
        given = torch.from_numpy((x.astype(np.float32) + 128) / 16)
        image = torch.quantize_per_tensor(given, 1 / 16, 128, torch.quint8).contiguous(
            memory_format=torch.channels_last
        )
        filters = torch.quantize_per_tensor(torch.from_numpy(w.astype(np.float32) / 16), 1 / 16, 0, torch.qint8)
        packed = torch.ops.quantized.conv2d_prepack(filters, None, [1, 1], [taps // 2] * 2, [1, 1], 1)
        assert size
        self.call = functools.partial(torch.ops.quantized.conv2d, image, packed, 8.0, 128)


def by_events(cupy: Any, call: Callable[[], Any], repeats: int = 40) -> float:
    """Return the seconds of a call on the stream."""
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(begin, end)) / repeats / 1e3


def by_processor(handle: dnn.Handle, call: Callable[[], Any]) -> float:
    """Return the seconds of the processor that a call takes."""
    begin = time.process_time()
    call()
    handle.synchronize()
    return time.process_time() - begin


def row(handle: dnn.Handle, connection: Any, kind: str, shape: tuple[int, ...], rounds: int) -> float:
    """Time a convolution and print it; return how many times the other library's speed portadnn has."""
    n, c, size, k, taps = shape
    rng = np.random.default_rng(1)
    x, w = (rng.integers(-128, 128, dims).astype(np.int8) for dims in ((n, c, size, size), (k, c, taps, taps)))
    ours = Ours(handle, kind, x, w, shape)
    other: Any = Torch(x, w, shape) if connection is None else Real(connection, kind, x, w, shape)
    timed: Callable[[Callable[[], Any]], float]
    if connection is None:
        timed = functools.partial(by_processor, handle)
        note = ""
    else:
        timed = functools.partial(by_events, connection.cupy)
        note = f"; {int((ours.result() != other.result()).sum())} bytes differ"
    for call in (ours.call, other.call) * 2:
        timed(call)
    pairs = [(timed(ours.call), timed(other.call)) for _ in range(rounds)]
    mine, theirs = (min(one) for one in zip(*pairs, strict=True))
    operations = 2 * n * c * k * (size * taps) ** 2 / mine / 1e12
    words = f"{kind} {n}x{c}x{size}x{size} {k} {taps}x{taps}: {1e6 * mine:.1f} us, other {1e6 * theirs:.1f}"
    print(f"{words}, {theirs / mine:.2f}; {operations:.1f} TOP/s{note}", flush=True)
    return theirs / mine


def main() -> None:
    """Time all shapes, in all layouts that the other library has."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.integers", description=__doc__)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    handle, connection = dnn.Handle(given.backend), None
    if given.backend == "cuda":
        import cupy

        from portadnn_backends.vendor_cudnn.connection import CupyConnection
        from portadnn_backends.vendor_cudnn.library import load

        connection = CupyConnection(load(), cupy)
    for kind in LANES if connection else ("INT8",):
        shapes = SHAPES if connection else SHAPES[:6]
        ratios = []
        for shape in shapes:
            try:
                ratios.append(row(handle, connection, kind, shape, given.rounds))
            except dnn.DnnError as error:
                print(kind, shape, type(error).__name__, str(error)[:120], flush=True)
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{kind}: {mean:.2f} in the geometric mean of {len(ratios)}")


if __name__ == "__main__":
    main()
