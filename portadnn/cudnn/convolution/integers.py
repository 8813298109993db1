"""Convolutions of bytes and of vectors of bytes, as graphs (cudnnConvolutionForward of cuDNN 6 to 9).

Products are summed exactly. Everything behind the sum is FLOAT: ``alpha * sum``, then beta times what was there (or z),
then the bias, then the activation; bytes are rounded to the nearest, ties to even, and saturated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import portadnn as dnn

from ...enums import ActivationMode, ConvolutionFwdAlgo, DataType, MathType, Status, TensorFormat
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...ops.convolution.algorithms import ConvolutionFwdAlgoPerf
from ..integer_graphs import Composed, composed, factor, memory_of
from ..storage import Stored, stored, type_name

# Types of x and w, and those that y may have.
_OUTPUTS = {
    ("INT8", "INT8"): ("INT8", "FLOAT"),
    ("UINT8", "INT8"): ("INT8", "FLOAT"),
    ("INT8x4", "INT8x4"): ("INT8x4", "FLOAT"),
    ("UINT8x4", "INT8x4"): ("INT8x4", "UINT8x4", "FLOAT"),
    ("INT8x32", "INT8x32"): ("INT8x32", "FLOAT"),
}
_EXACT = 2**24  # FLOAT holds every integer up to here
_LARGEST = {"INT8": 128 * 128, "UINT8": 255 * 128}  # of a product


@dataclass(frozen=True)
class Call:
    """One convolution, checked.

    Attributes
    ----------
    x, w, y : Stored
        Layouts.
    conv : ConvolutionDescriptor
        Geometry.
    reordered : bool
        Whether filter and bias lie as cudnnReorderFilterAndBias leaves them.
    algos : tuple of ConvolutionFwdAlgo
        Those that cuDNN has for it, the usual one first.
    """

    x: Stored
    w: Stored
    y: Stored
    conv: dnn.ConvolutionDescriptor
    reordered: bool
    algos: tuple[ConvolutionFwdAlgo, ...]

    @property
    def exact(self) -> bool:
        """Whether no sum leaves the integers that FLOAT holds."""
        return math.prod(self.w.dims[1:]) * _LARGEST[self.x.type] <= _EXACT


def checked(x: Any, w: Any, conv: dnn.ConvolutionDescriptor, y: Any, reorder: int) -> Call:
    """Return the call of descriptors' values.

    Raises
    ------
    BadParam
        Dims that do not fit, or vectors outside of NCHW_VECT_C.
    NotSupported
        Types, layouts or a geometry that cuDNN has no convolution of bytes for.
    """
    wanted = dnn.get_convolution_nd_forward_output_dim(conv, x.dims, w.dims)
    if y.dims != wanted:
        raise BadParam(argument="y.dims", expected=str(wanted), got=y.dims)
    layouts = stored(x), stored(w), stored(y)
    types = type_name(x), type_name(w)
    if types not in _OUTPUTS or type_name(y) not in _OUTPUTS[types]:
        known = "; ".join(f"{a} by {b} to {' or '.join(c)}" for (a, b), c in _OUTPUTS.items())
        refusal = BadParam if layouts[0].lanes > 1 == layouts[1].lanes else NotSupported  # as cuDNN 9.19
        raise refusal(argument="types", expected=known, got=f"{types[0]} by {types[1]} to {type_name(y)}")
    if conv.compute_type is not DataType.INT32:
        got = "FLOAT" if conv.compute_type is None else conv.compute_type.name
        raise NotSupported(argument="conv.compute_type", expected="INT32 for bytes", got=got)
    if len(x.dims) != 4:
        raise NotSupported(argument="x.dims", expected="4 dims for bytes", got=x.dims)
    if conv.groups != 1:
        raise NotSupported(argument="conv.groups", expected="1 for bytes", got=conv.groups)
    if layouts[0].lanes != 32 and set(conv.dilation or ()) != {1}:
        raise NotSupported(argument="conv.dilation", expected="1 for bytes but INT8x32", got=conv.dilation)
    vectors = layouts[0].lanes > 1
    if not vectors:
        _check_rows(layouts)
    reordered = layouts[0].lanes == 32 and reorder == 1
    if reordered and w.dims[0] % 32:
        raise NotSupported(argument="w.dims[0]", expected="a multiple of 32 for a reordered filter", got=w.dims[0])
    algos = (ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM, ConvolutionFwdAlgo.IMPLICIT_GEMM)
    return Call(*layouts, conv, reordered, algos[:1] if vectors and _channels_last(layouts[2]) else algos)


def _check_rows(layouts: Sequence[Stored]) -> None:
    """Demand what cuDNN wants of bytes that are no vectors: NHWC without gaps, and channels in fours."""
    for name, place in zip("xwy", layouts, strict=True):
        if place.steps != dnn.TensorDescriptor(place.dims, format=TensorFormat.NHWC).strides:
            raise NotSupported(argument=f"{name}.strides", expected="NHWC without gaps for bytes", got=place.steps)
    counted = {"x.dims[1]": layouts[0].dims[1]}
    if layouts[2].type != "FLOAT":
        counted["y.dims[1]"] = layouts[2].dims[1]
    for name, channels in counted.items():
        if channels % 4:
            raise NotSupported(argument=name, expected="a multiple of 4 for bytes", got=channels)


def _channels_last(place: Stored) -> bool:
    return place.lanes == 1 and place.steps[1] == 1 and place.dims[1] > 1


def check_algo(call: Call, algo: ConvolutionFwdAlgo) -> None:
    """Refuse an algorithm that cuDNN does not have for bytes."""
    if algo not in call.algos:
        raise NotSupported(argument="algo", expected=f"{' or '.join(a.name for a in call.algos)} for bytes", got=algo)


def run(
    handle: Handle,
    call: Call,
    memory: tuple[Any, Any, Any],
    numbers: tuple[float, float],
    fused: tuple[Any, Any, Any, Any] | None = None,
) -> None:
    """Compute a call.

    Parameters
    ----------
    memory
        Of x, w and y.
    numbers
        alpha and beta, or alpha1 and alpha2.
    fused
        Layout and memory of z, memory of the bias, and the activation; without them beta is what y is blended with.
    """
    types = call.x.type, call.w.type, call.y.type
    x, w, y = (memory_of(handle, one, name, kind) for one, name, kind in zip(memory, "xwy", types, strict=True))
    alpha, beta = (factor(value, name) for value, name in zip(numbers, ("alpha", "beta"), strict=True))
    prior, z, bias, activation = (call.y, y, None, None) if fused is None else fused
    arguments = {"x": x, "w": w, "y": y, "alpha": alpha, "beta": beta}
    if fused is not None:
        arguments["bias"] = memory_of(handle, bias, "bias", "FLOAT")
    if beta != 0:
        arguments["prior"] = memory_of(handle, z, "z", prior.type)
    key = (call, alpha == 1, beta == 0 or prior, activation)

    def make() -> Composed:
        return _graph(handle, call, alpha == 1, None if beta == 0 else prior, activation)

    composed(handle, key, make).run(arguments)


def _graph(
    handle: Handle, call: Call, plain: bool, prior: Stored | None, activation: dnn.ActivationDescriptor | None
) -> Composed:
    made, y = Composed(handle), call.y
    apart = y.lanes > 1 and prior is None  # rounded where the products are, then moved; else read and written in place
    places = y.dims if apart else y.places
    before = None if prior is None else made.tensor("prior", prior)
    bias = None if activation is None else _bias(made, call, places)
    total = _sums(made, call)
    if places != y.dims:
        total = _reshaped(made, total, "FLOAT", places)
    if not plain:
        total = made.scaled(total, "alpha", len(places))
    if before is not None:
        total = made.graph.add(total, made.scaled(before, "beta", len(places)))
    if activation is not None:
        total = _activated(made, made.graph.add(total, bias), activation)
    total = made.graph.identity(total)
    if apart:
        total.set_dim(list(y.dims)).set_stride(_rows(y.dims)).set_data_type(made.type(y.type))
        total = made.graph.identity(_reshaped(made, total, y.type, y.places, y.steps))
    made.result("y", y, total)
    return made


def _bias(made: Composed, call: Call, places: Sequence[int]) -> Any:
    """Return the bias, FLOAT, with the dims of a result's channels and of its vectors, if they are apart."""
    count, k = len(places) - len(call.y.dims), call.y.dims[1]
    dims = (1, *places[1 : 2 + count], *(1 for _ in call.y.dims[2:]))
    steps = [math.prod(dims[i + 1 :]) for i in range(len(dims))]
    if not call.reordered:
        return made.laid_out("bias", "FLOAT", dims, tuple(steps))
    split = (1, k // 32, 4, 2, 4, 1, 1)
    return _reshaped(made, made.laid_out("bias", "FLOAT", split, (k, 32, 4, 16, 1, 1, 1)), "FLOAT", dims, steps)


def _sums(made: Composed, call: Call) -> Any:
    """Return the convolution, FLOAT."""
    from ...graph import convolution_mode

    image = made.tensor("x", call.x)
    if call.x.lanes > 1:
        image = _reshaped(made, image, call.x.type, call.x.dims)
    (k, c, r, s), lanes = call.w.dims, call.w.lanes
    if call.reordered:
        places = (k // 8, 4, 2, c // 32, 8, 4, r, s)
        steps = (256, 4, 128, r * s * 32 * k, 16, 1, s * 32 * k, 32 * k)
        weight = made.laid_out("w", call.w.type, places, steps)
    else:
        weight = made.tensor("w", call.w)
    if lanes > 1:
        weight = _reshaped(made, weight, call.w.type, call.w.dims)
    conv = call.conv
    result = made.graph.conv_fprop(
        image,
        weight,
        padding=list(conv.padding),
        stride=list(conv.stride or ()),
        dilation=list(conv.dilation or ()),
        convolution_mode=convolution_mode[conv.mode.name],
        compute_data_type=made.type("FLOAT" if call.exact else "INT32"),
    )
    if call.exact:
        return result.set_data_type(made.type("FLOAT"))
    return made.graph.identity(result.set_data_type(made.type("INT32")))  # rounded to FLOAT before anything else


def _rows(dims: tuple[int, ...]) -> list[int]:
    """Return strides with the channels innermost, where tensor cores read whole chunks of them."""
    return list(dnn.TensorDescriptor(dims, format=TensorFormat.NHWC).strides)


def _reshaped(made: Composed, value: Any, type: str, dims: Sequence[int], steps: Sequence[int] = ()) -> Any:
    """Return the same elements with channels split into vectors or joined; without `steps` channels are innermost."""
    from ...graph import reshape_mode

    result = made.graph.reshape(value, reshape_mode=reshape_mode.LOGICAL)
    if not steps:
        steps = _rows(tuple(dims)) if len(dims) < 5 else [math.prod(dims[i + 1 :]) for i in range(len(dims))]
    return result.set_dim(list(dims)).set_stride(list(steps)).set_data_type(made.type(type))


def _activated(made: Composed, value: Any, activation: dnn.ActivationDescriptor) -> Any:
    mode, graph = activation.mode, made.graph
    if mode is ActivationMode.IDENTITY:
        return value
    if mode is ActivationMode.RELU:
        return graph.relu(value)
    if mode is ActivationMode.CLIPPED_RELU:
        return graph.relu(value, lower_clip=0.0, upper_clip=activation.ceiling)
    if mode is ActivationMode.SWISH:
        return graph.swish(value, activation.coef)
    if mode is ActivationMode.ELU and activation.coef == 1:
        return graph.elu(value)
    if mode is ActivationMode.SIGMOID:
        return graph.sigmoid(value)
    if mode is ActivationMode.TANH:
        return graph.tanh(value)
    raise NotSupported(argument="activationDesc", expected="ELU with an alpha of 1 for bytes", got=activation.coef)


def algorithms(call: Call, requested: int, seconds: float = 0.0) -> list[ConvolutionFwdAlgoPerf]:
    """Return what Find and Get say of a call: those that cuDNN has, and all others as not supported."""
    found = [
        ConvolutionFwdAlgoPerf(algo, Status.SUCCESS, 1e3 * seconds, 0, True, MathType.DEFAULT) for algo in call.algos
    ]
    for algo in ConvolutionFwdAlgo:
        if algo not in call.algos:
            reason = "bytes are computed by implicit products alone"
            found.append(ConvolutionFwdAlgoPerf(algo, Status.NOT_SUPPORTED, math_type=MathType.DEFAULT, reason=reason))
    return found[:requested]


def measured(handle: Handle, call: Call, memory: tuple[Any, Any, Any] | None = None) -> float:
    """Return the seconds that a call takes, on memory of its own where none is given; y is overwritten."""
    if memory is None:
        memory = tuple(
            handle.empty_bytes(math.prod(one.dims) * (4 if one.type == "FLOAT" else 1))
            for one in (call.x, call.w, call.y)
        )
    begin = 0.0
    for _ in range(2):  # the first one plans and compiles
        handle.synchronize()
        begin = time.perf_counter()
        run(handle, call, memory, (1.0, 0.0))
        handle.synchronize()
    return time.perf_counter() - begin
