"""Wrong calls, as a table: which section of the guide forbids it, the call, and what the error says.

A row's call is a function of :class:`Env`, whose methods make the right call unless told otherwise:
``e.conv(w=(4, 2, 3, 3))`` is a convolution whose filter has 2 channels instead of 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import BadParam, DataType, NotSupported

BIG = 3 * 2**46  # twice this many elements are more than 2**48


@dataclass(frozen=True)
class Row:
    """One wrong call. The message reads ``call: argument: ...`` and holds `says`."""

    section: str
    call: str
    make: Callable[[Env], Any]
    error: type[dnn.DnnError]
    argument: str
    says: tuple[str, ...]
    backends: tuple[str, ...] = ("reference", "opencl", "cuda")

    @property
    def name(self) -> str:
        return f"{self.section}-{self.call}-{self.argument}-{'-'.join(self.says)}"[:90].replace(" ", "_")


class Env:
    """A handle, arrays on it whose contents are remembered, and the public functions with right defaults."""

    def __init__(self, handle: dnn.Handle) -> None:
        self.h = handle
        self.backend = handle.backend
        self.made: list[tuple[Any, np.ndarray]] = []
        self.random = np.random.default_rng(1)

    def t(self, dims: Any, dtype: str = "float32", format: str = "nchw") -> Any:
        """Return an array of the handle with random numbers in it."""
        host = self.random.standard_normal(dims).astype(DataType.of(dtype).numpy)
        return self.keep(self.h.asarray(host, format=format))

    def keep(self, array: Any) -> Any:
        """Remember what the array holds, to see later that it still does."""
        self.made.append((array, self.h.to_numpy(array)))
        return array

    def raw(self, dtype: str) -> Any:
        """Return a (1, 3, 8, 8) array of the backend of any NumPy dtype."""
        host = np.zeros((1, 3, 8, 8), dtype)
        if self.backend == "opencl":
            import pyopencl.array as cl_array

            return cl_array.to_device(self.h.get_stream(), host)
        if self.backend == "cuda":
            import cupy

            return cupy.asarray(host)
        return host

    def view(self, dims: Any, strides: Any, offset: int = 0, base: Any = None, dtype: str = "float32") -> Any:
        """Return a view of 4096 elements (or of `base`) with the given strides, in elements."""
        base = self.t((1, 1, 64, 64), dtype) if base is None else base
        return dnn.TensorDescriptor(dims, dtype, strides=strides).view(base, offset)

    def foreign(self) -> Any:
        """Return an array that this backend cannot take."""
        if self.backend != "reference":
            return np.zeros((1, 3, 8, 8), np.float32).tolist()  # CPU devices take NumPy's
        return memoryview(bytes(768))

    def other_context(self) -> Any:
        """Return an array of another OpenCL context."""
        return dnn.Handle(self.backend).asarray(np.zeros((1, 3, 8, 8), np.float32))

    def closed(self) -> dnn.Handle:
        """Return a closed handle."""
        handle = dnn.Handle(self.backend)
        handle.close()
        return handle

    def _call(self, function: Callable[..., Any], order: str, defaults: dict[str, Any], given: dict[str, Any]) -> Any:
        dtype = given.pop("dtype", "float32")
        values = {**defaults, **given}
        handle = values.pop("h", self.h)
        for name, value in values.items():
            dims = isinstance(value, tuple) and value and all(type(v) is int for v in value)
            if dims and name not in ("op", "value", "alpha"):
                values[name] = self.t(value, dtype)
        positional = [values.pop(name) for name in order.split()]
        return function(handle, *positional, **values)

    def conv(self, **given: Any) -> Any:
        conv = {"conv": dnn.ConvolutionDescriptor((1, 1))}
        defaults = {"x": (1, 3, 8, 8), "w": (4, 3, 3, 3), **conv, "y": (1, 4, 8, 8)}
        return self._call(dnn.convolution_forward, "x w conv y", defaults, given)

    def conv_data(self, **given: Any) -> Any:
        conv = {"conv": dnn.ConvolutionDescriptor((1, 1))}
        defaults = {"w": (4, 3, 3, 3), "dy": (1, 4, 8, 8), **conv, "dx": (1, 3, 8, 8)}
        return self._call(dnn.convolution_backward_data, "w dy conv dx", defaults, given)

    def conv_filter(self, **given: Any) -> Any:
        conv = {"conv": dnn.ConvolutionDescriptor((1, 1))}
        defaults = {"x": (1, 3, 8, 8), "dy": (1, 4, 8, 8), **conv, "dw": (4, 3, 3, 3)}
        return self._call(dnn.convolution_backward_filter, "x dy conv dw", defaults, given)

    def bias(self, **given: Any) -> Any:
        defaults = {"dy": (2, 4, 8, 8), "db": (1, 4, 1, 1)}
        return self._call(dnn.convolution_backward_bias, "dy db", defaults, given)

    def pool(self, **given: Any) -> Any:
        defaults = {"x": (1, 3, 8, 8), "pooling": dnn.PoolingDescriptor("max", (2, 2)), "y": (1, 3, 7, 7)}
        return self._call(dnn.pooling_forward, "x pooling y", defaults, given)

    def pool_back(self, **given: Any) -> Any:
        pooling = {"pooling": dnn.PoolingDescriptor("max", (2, 2))}
        y, x = (1, 3, 7, 7), (1, 3, 8, 8)
        defaults = {"y": y, "dy": y, "x": x, **pooling, "dx": x}
        return self._call(dnn.pooling_backward, "y dy x pooling dx", defaults, given)

    def act(self, **given: Any) -> Any:
        x = (1, 3, 8, 8)
        defaults = {"x": x, "activation": dnn.ActivationDescriptor("relu"), "y": x}
        return self._call(dnn.activation_forward, "x activation y", defaults, given)

    def act_back(self, **given: Any) -> Any:
        x = (1, 3, 8, 8)
        defaults = {"y": x, "dy": x, "x": x, "activation": dnn.ActivationDescriptor("relu"), "dx": x}
        return self._call(dnn.activation_backward, "y dy x activation dx", defaults, given)

    def soft(self, **given: Any) -> Any:
        return self._call(dnn.softmax_forward, "x y", {"x": (1, 3, 8, 8), "y": (1, 3, 8, 8)}, given)

    def soft_back(self, **given: Any) -> Any:
        x = (1, 3, 8, 8)
        return self._call(dnn.softmax_backward, "y dy dx", {"y": x, "dy": x, "dx": x}, given)

    def transform(self, **given: Any) -> Any:
        return self._call(dnn.transform_tensor, "x y", {"x": (1, 3, 8, 8), "y": (1, 3, 8, 8)}, given)

    def add(self, **given: Any) -> Any:
        return self._call(dnn.add_tensor, "a c", {"a": (1, 3, 1, 1), "c": (1, 3, 8, 8)}, given)

    def op(self, **given: Any) -> Any:
        defaults = {"op": "add", "a": (1, 3, 8, 8), "b": (1, 3, 1, 1), "c": (1, 3, 8, 8)}
        return self._call(dnn.op_tensor, "op a b c", defaults, given)

    def set(self, **given: Any) -> Any:
        return self._call(dnn.set_tensor, "y value", {"y": (1, 3, 8, 8), "value": 1.0}, given)

    def scale(self, **given: Any) -> Any:
        return self._call(dnn.scale_tensor, "y alpha", {"y": (1, 3, 8, 8), "alpha": 2.0}, given)


def bad(section: str, call: str, make: Callable[[Env], Any], argument: str, *says: str, **more: Any) -> Row:
    """Return a row of a call that BadParam refuses."""
    return Row(section, call, make, BadParam, argument, says, **more)


def unsupported(section: str, call: str, make: Callable[[Env], Any], argument: str, *says: str, **more: Any) -> Row:
    """Return a row of a call that NotSupported refuses."""
    return Row(section, call, make, NotSupported, argument, says, **more)
