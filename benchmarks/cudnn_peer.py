"""The peer: cuDNN 9's legacy calls, on memory and the stream of CuPy.

Each problem's descriptors are made once; a side's call is one call of the C function. Where cuDNN offers several
ways (the two spatial modes of batch normalisation), each is a side of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portadnn.enums import BatchNormMode, DataType
from portadnn.problem import Problem, TensorSpec

from .call import PERIOD, random_values, tensor_values
from .cudnn_library import CudnnError, Descriptor, Library, ints
from .peer import NoEquivalent
from .timing import Side

LEAST_DIMS = 4  # of a cuDNN tensor
MOST = 2**31 - 1  # elements of one


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


Calls = dict[str, Callable[[], None]]


class Setting:
    """What the calls of one problem share: descriptors, memory and numbers."""

    def __init__(self, peer: CudnnPeer, problem: Problem, numbers: Mapping[str, float]) -> None:
        self.peer = peer
        self.library = peer.library
        self.handle = peer.handle
        self.problem: Any = problem
        self.real: Any = ctypes.c_double if problem.dtype is DataType.DOUBLE else ctypes.c_float
        self._numbers = {**problem.scalars, **numbers}
        self._kept: list[Any] = []  # descriptors, memory and numbers live as long as the calls
        self._memory: dict[str, Any] = {}

    def _keep(self, thing: Any) -> Any:
        self._kept.append(thing)
        return thing

    def spec(self, name: str) -> TensorSpec:
        """Return a tensor's spec."""
        spec: TensorSpec = getattr(self.problem, name)
        return spec

    def tensor(self, name: str) -> Any:
        """Return the descriptor of one of the problem's tensors."""
        return self.tensor_of(self.spec(name))

    def tensor_of(self, spec: TensorSpec) -> Any:
        """Return a tensor descriptor."""
        if spec.span > MOST:
            raise NoEquivalent(f"cuDNN's tensors have at most {MOST} elements")
        more = (1,) * (LEAST_DIMS - len(spec.dims))
        dims, strides = (*spec.dims, *more), (*spec.strides, *more)
        return self.descriptor("Tensor", "Nd", int(spec.dtype), len(dims), ints(dims), ints(strides))

    def descriptor(self, kind: str, form: str = "", *args: Any) -> Any:
        """Return a descriptor of that kind; its set call takes `args`, if there are any."""
        made = self._keep(Descriptor(self.library, kind))
        if args:
            middle, _, last = form.partition("_")
            name = f"cudnnSet{kind}{middle}Descriptor{'_' + last if last else ''}"
            self.library.call(name, made.pointer, *args)
        return made.pointer

    def data(self, name: str) -> Any:
        """Return the address of a tensor's memory, which holds random values at first."""
        if name not in self._memory:
            self._memory[name] = self._values(name)
        return self._memory[name].data.ptr

    def _values(self, name: str) -> Any:
        cupy, spec = self.peer.cupy, self.spec(name)
        if self.problem.op.startswith("spatial_tf"):
            return cupy.asarray(tensor_values(self.problem, name).view("u1"))
        row = TensorSpec.packed(spec.dtype, (1, 1, min(spec.span, PERIOD)))
        period = cupy.asarray(random_values(row, self.problem.index(name)).view("u1"))
        return cupy.tile(period, -(-spec.span // PERIOD))

    def bytes(self, count: int) -> Any:
        """Return the address of scratch memory; None for none."""
        return self._keep(self.peer.cupy.zeros(count, "u1")).data.ptr if count else None

    def number(self, value: float | str) -> Any:
        """Return the address of a number, or of the problem's run-time number of that name, in the arithmetic type."""
        number = self._keep(self.real(self._numbers[value] if isinstance(value, str) else value))
        return ctypes.cast(ctypes.pointer(number), ctypes.c_void_p)

    def plain(self, name: str) -> float:
        """Return the problem's run-time number of that name."""
        return float(self._numbers[name])

    def optional(self, *names: str) -> tuple[Any, ...]:
        """Return the memory of each tensor, None for those that the problem lacks."""
        return tuple(None if getattr(self.problem, name) is None else self.data(name) for name in names)

    def call(self, name: str, *args: Any) -> Callable[[], None]:
        """Return a call of a C function, whose first argument is the handle."""
        run = self.library.bound(name, self.handle, *args)
        kept = self._kept, self._memory

        def call(_kept: Any = kept) -> None:
            run()

        return call

    def one(self, name: str, *args: Any) -> Calls:
        """Return the only way."""
        return {name: self.call(name, *args)}

    def pairs(self, *names: str) -> tuple[Any, ...]:
        """Return descriptor and memory of each tensor, in turn."""
        return tuple(thing for name in names for thing in (self.tensor(name), self.data(name)))

    def blended(self, inputs: Sequence[str], output: str) -> tuple[Any, ...]:
        """Return alpha, the inputs, beta, the output: the order of most calls."""
        return (self.number("alpha"), *self.pairs(*inputs), self.number("beta"), *self.pairs(output))


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
    how = s.descriptor("Activation", "", int(p.mode), int(p.nan_propagation), p.ceiling)
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


def _spatial_transformer(s: Setting) -> Calls:
    p = s.problem
    transformed = p.descriptor.dims
    how = s.descriptor("SpatialTransformer", "Nd", int(p.sampler), int(p.dtype), len(transformed), ints(transformed))
    if p.op == "spatial_tf_grid_generator_forward":
        return s.one("cudnnSpatialTfGridGeneratorForward", how, s.data("theta"), s.data("grid"))
    if p.op == "spatial_tf_grid_generator_backward":
        return s.one("cudnnSpatialTfGridGeneratorBackward", how, s.data("dgrid"), s.data("dtheta"))
    alpha, beta = s.number("alpha"), s.number("beta")
    if p.op == "spatial_tf_sampler_forward":
        return s.one("cudnnSpatialTfSamplerForward", how, alpha, *s.pairs("x"), s.data("grid"), beta, *s.pairs("y"))
    images = (alpha, *s.pairs("x"), beta, *s.pairs("dx"))
    rest = (s.number("alpha_dgrid"), *s.pairs("dy"), s.data("grid"), s.number("beta_dgrid"), s.data("dgrid"))
    return s.one("cudnnSpatialTfSamplerBackward", how, *images, *rest)


def _batch_norm(s: Setting) -> Calls:
    """Return the call in the problem's mode, and for SPATIAL in SPATIAL_PERSISTENT as well."""
    p = s.problem
    modes = [p.mode]
    if p.mode is BatchNormMode.SPATIAL:
        modes.append(BatchNormMode.SPATIAL_PERSISTENT)
    name = f"cudnn{''.join(word.capitalize() for word in p.op.split('_'))}"
    return {f"{name} {mode}": s.call(name, int(mode), *_batch_norm_arguments(s)) for mode in modes}


def _batch_norm_arguments(s: Setting) -> tuple[Any, ...]:
    p = s.problem
    parameters = (s.tensor("scale"), s.data("scale"))
    epsilon = s.plain("epsilon")
    if p.op == "batch_normalization_backward":
        blends = (f"{which}_{of}_diff" for of in ("data", "param") for which in ("alpha", "beta"))
        gradients, saved = s.optional("dscale", "dbias"), s.optional("saved_mean", "saved_inv_variance")
        return (*map(s.number, blends), *s.pairs("x", "dy", "dx"), *parameters, *gradients, epsilon, *saved)
    start = (s.number("alpha"), s.number("beta"), *s.pairs("x", "y"), *parameters, s.data("bias"))
    if p.op == "batch_normalization_forward_inference":
        return (*start, *s.optional("estimated_mean", "estimated_variance"), epsilon)
    running, saved = s.optional("running_mean", "running_variance"), s.optional("saved_mean", "saved_inv_variance")
    return (*start, s.plain("exponential_average_factor"), *running, epsilon, *saved)


CALLS: dict[str, Callable[[Setting], Calls]] = {
    "activation_backward": _activation,
    "activation_forward": _activation,
    "add_tensor": _add,
    "batch_normalization_backward": _batch_norm,
    "batch_normalization_forward_inference": _batch_norm,
    "batch_normalization_forward_training": _batch_norm,
    "convolution_backward_bias": _bias_gradient,
    "op_tensor": _op,
    "pooling_backward": _pooling,
    "pooling_forward": _pooling,
    "scale_tensor": _scale,
    "set_tensor": _set,
    "softmax_backward": _softmax,
    "softmax_forward": _softmax,
    "spatial_tf_grid_generator_backward": _spatial_transformer,
    "spatial_tf_grid_generator_forward": _spatial_transformer,
    "spatial_tf_sampler_backward": _spatial_transformer,
    "spatial_tf_sampler_forward": _spatial_transformer,
    "transform_tensor": _transform,
}
