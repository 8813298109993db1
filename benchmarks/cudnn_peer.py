"""The peer: cuDNN 9's legacy calls, on memory and the stream of CuPy.

Each problem's descriptors are made once; a side's call is one call of the C function. Where cuDNN offers several
ways (the two spatial modes of batch normalisation), each is a side of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portadnn.enums import ActivationMode, DataType
from portadnn.problem import Problem, TensorSpec

from . import cudnn_calls, cudnn_rnn
from .cudnn_library import CudnnError, Library, ints
from .cudnn_setting import Calls, Setting
from .peer import NoEquivalent
from .timing import Side


class CudnnPeer:
    """cuDNN on the current CUDA device.

    Parameters
    ----------
    library
        The loaded cuDNN.
    cupy
        CuPy, or what stands for it in tests.
    """

    def __init__(self, library: Library | None = None, cupy: Any = None) -> None:
        if cupy is None:
            import cupy
        self.cupy = cupy
        self.library = library or Library.load()
        handle = ctypes.c_void_p()
        self.library.call("cudnnCreate", ctypes.byref(handle))
        self.handle = handle.value
        self.library.call("cudnnSetStream", self.handle, cupy.cuda.get_current_stream().ptr)

    @property
    def title(self) -> str:
        """What tables and plots call it."""
        version = self.library.version
        return f"cuDNN {version // 10000}.{version // 100 % 100}, legacy calls"

    def describe(self) -> dict[str, Any]:
        """Return what a record has to say of the peer."""
        return {"name": "cudnn", "version": self.library.version, "calls": "legacy", "cupy": self.cupy.__version__}

    def timer(self, function: Callable[[], None]) -> float:
        """Return the seconds of what `function` runs on the device."""
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        function()
        end.record()
        end.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(start, end)) / 1e3

    def product(self, spec: TensorSpec, tf32: bool) -> Side | None:
        """Return None: cuDNN has no matrix product."""
        return None

    def sides(self, problem: Problem, numbers: Mapping[str, float]) -> Sequence[Side]:
        """Return each of cuDNN's ways, called once."""
        make = CALLS.get(problem.op)
        if make is None:
            raise NoEquivalent(f"cuDNN 9 has no legacy call for {problem.op}")
        try:
            calls = make(Setting(self, problem, numbers))
            for call in calls.values():
                call()
        except CudnnError as error:
            raise NoEquivalent(str(error)) from None
        return [Side(name, call, self.timer) for name, call in calls.items()]


def _transform(s: Setting) -> Calls:
    return s.one("cudnnTransformTensor", *s.blended(("x",), "y"))


def _add(s: Setting) -> Calls:
    return s.one("cudnnAddTensor", *s.blended(("a",), "c"))


def _op(s: Setting) -> Calls:
    p = s.problem
    compute = DataType.DOUBLE if s.real is ctypes.c_double else DataType.FLOAT
    op = s.descriptor("OpTensor", "", int(p.operation), int(compute), int(p.nan_propagation))
    a, b, beta = s.number("alpha1"), s.number("alpha2"), s.number("beta")
    return s.one("cudnnOpTensor", op, a, *s.pairs("a"), b, *s.pairs("b"), beta, *s.pairs("c"))


def _set(s: Setting) -> Calls:
    return s.one("cudnnSetTensor", *s.pairs("y"), s.number(0.5))


def _scale(s: Setting) -> Calls:
    return s.one("cudnnScaleTensor", *s.pairs("y"), s.number("alpha"))


def _softmax(s: Setting) -> Calls:
    which = int(s.problem.algorithm), int(s.problem.mode)
    if s.problem.op == "softmax_forward":
        return s.one("cudnnSoftmaxForward", *which, *s.blended(("x",), "y"))
    return s.one("cudnnSoftmaxBackward", *which, *s.blended(("y", "dy"), "dx"))


def _activation(s: Setting) -> Calls:
    p = s.problem
    coef = p.coef if p.mode is ActivationMode.ELU else p.ceiling
    how = s.descriptor("Activation", "", int(p.mode), int(p.nan_propagation), coef)
    if p.mode is ActivationMode.SWISH:
        s.library.call("cudnnSetActivationDescriptorSwishBeta", how, p.coef)
    if p.op == "activation_forward":
        return s.one("cudnnActivationForward", how, *s.blended(("x",), "y"))
    return s.one("cudnnActivationBackward", how, *s.blended(("y", "dy", "x"), "dx"))


def _pooling(s: Setting) -> Calls:
    p = s.problem
    sizes = (ints(values) for values in (p.window, p.padding, p.stride))
    how = s.descriptor("Pooling", "Nd", int(p.mode), int(p.nan_propagation), len(p.window), *sizes)
    if p.op == "pooling_forward":
        return s.one("cudnnPoolingForward", how, *s.blended(("x",), "y"))
    one, zero = s.number(1), s.number(0)
    s.call("cudnnPoolingForward", how, one, *s.pairs("x"), zero, *s.pairs("y"))()  # the gradient looks for y in x
    return s.one("cudnnPoolingBackward", how, *s.blended(("y", "dy", "x"), "dx"))


def _bias_gradient(s: Setting) -> Calls:
    return s.one("cudnnConvolutionBackwardBias", *s.blended(("dy",), "db"))


CALLS: dict[str, Callable[[Setting], Calls]] = {
    "activation_backward": _activation,
    "activation_forward": _activation,
    "add_tensor": _add,
    "convolution_backward_bias": _bias_gradient,
    "op_tensor": _op,
    "pooling_backward": _pooling,
    "pooling_forward": _pooling,
    "scale_tensor": _scale,
    "set_tensor": _set,
    "softmax_backward": _softmax,
    "softmax_forward": _softmax,
    "transform_tensor": _transform,
    **cudnn_calls.CALLS,
    **cudnn_rnn.CALLS,
}
