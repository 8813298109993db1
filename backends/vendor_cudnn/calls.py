"""cuDNN's legacy calls of tensor operations, softmax, activations and pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from portadnn.enums import ActivationMode, DataType, PoolingMode
from portadnn.problem import TensorSpec

from .library import ints
from .setting import Calls, Makers, Memory, Setting

CTC_DETERMINISTIC = 0  # CUDNN_CTC_LOSS_ALGO_DETERMINISTIC
MAX_DETERMINISTIC = 3  # CUDNN_POOLING_MAX_DETERMINISTIC: its gradient has the same bits again


def _transform(s: Setting) -> Calls:
    return s.one("cudnnTransformTensor", *s.blended(("x",), "y"))


def _add(s: Setting) -> Calls:
    return s.one("cudnnAddTensor", *s.blended(("a",), "c"))


def real_of(s: Setting) -> DataType:
    """Return the type of the arithmetic."""
    return DataType.DOUBLE if s.problem.dtype is DataType.DOUBLE else DataType.FLOAT


def _op(s: Setting) -> Calls:
    p = s.problem
    op = s.descriptor("OpTensor", "", int(p.operation), int(real_of(s)), int(p.nan_propagation))
    a, b, beta = s.number("alpha1"), s.number("alpha2"), s.number("beta")
    return s.one("cudnnOpTensor", op, a, *s.pairs("a"), b, *s.pairs("b"), beta, *s.pairs("c"))


def _set(s: Setting) -> Calls:
    return s.one("cudnnSetTensor", *s.pairs("y"), s.number("value"))


def _scale(s: Setting) -> Calls:
    return s.one("cudnnScaleTensor", *s.pairs("y"), s.number("alpha"))


def _softmax(s: Setting) -> Calls:
    which = int(s.problem.algorithm), int(s.problem.mode)
    s.alike(*s.problem.names)  # it writes beyond an output that lies otherwise
    if s.problem.op == "softmax_forward":
        return s.one("cudnnSoftmaxForward", *which, *s.blended(("x",), "y"))
    return s.one("cudnnSoftmaxBackward", *which, *s.blended(("y", "dy"), "dx"))


def activation_of(s: Setting, mode: ActivationMode) -> int:
    """Return the descriptor of an activation with the problem's other parameters."""
    p = s.problem
    coef = p.coef if mode is ActivationMode.ELU else p.ceiling
    how: int = s.descriptor("Activation", "", int(mode), int(p.nan_propagation), coef)
    if mode is ActivationMode.SWISH:
        s.library.call("cudnnSetActivationDescriptorSwishBeta", how, p.coef)
    return how


def _activation(s: Setting) -> Calls:
    how = activation_of(s, s.problem.mode)
    if s.problem.op == "activation_forward":
        return s.one("cudnnActivationForward", how, *s.blended(("x",), "y"))
    return s.one("cudnnActivationBackward", how, *s.blended(("y", "dy", "x"), "dx"))


def _pooling(s: Setting) -> Calls:
    p = s.problem
    mode = MAX_DETERMINISTIC if s.exact and p.mode is PoolingMode.MAX else int(p.mode)
    sizes = (ints(values) for values in (p.window, p.padding, p.stride))
    how = s.descriptor("Pooling", "Nd", mode, int(p.nan_propagation), len(p.window), *sizes)
    if p.op == "pooling_forward":
        return s.one("cudnnPoolingForward", how, *s.blended(("x",), "y"))
    return s.one("cudnnPoolingBackward", how, *s.blended(("y", "dy", "x"), "dx"))


def _bias_gradient(s: Setting) -> Calls:
    return s.one("cudnnConvolutionBackwardBias", *s.blended(("dy",), "db"))


def _reduce(s: Setting) -> Calls:
    p, library = s.problem, s.library
    indices = p.indices is not None
    how = s.descriptor("ReduceTensor", "", int(p.operation), int(real_of(s)), int(p.nan_propagation), int(indices), 0)
    shapes = s.tensor("a"), s.tensor("c")
    size = library.size("cudnnGetReductionWorkspaceSize", s.handle, how, *shapes)
    found: tuple[Any, int] = (None, 0)
    if indices:
        s.packed("indices")
        found = s.data("indices"), library.size("cudnnGetReductionIndicesSize", s.handle, how, *shapes)
        s.least["indices"] = found[1]
    return s.one("cudnnReduceTensor", how, *found, s.scratch(size), size, *s.blended(("a",), "c"))


def _concatenated(s: Setting) -> Any:
    """Return the place of the address of labels one behind the other; rows of them are gathered before each call."""
    spec, rows, lengths = s.spec("labels"), s.data("labels"), s.data("label_lengths")
    s.packed("labels", "label_lengths")
    if len(spec.dims) == 1:
        return rows
    batch, longest = spec.dims
    together = s.scratch(spec.nbytes)

    def gather(device: Memory) -> None:
        found = np.frombuffer(device.read(rows.value, spec.nbytes), np.int32).reshape(batch, longest)
        used = np.frombuffer(device.read(lengths.value, 4 * batch), np.int32)
        inside = np.arange(longest) < used[:, None]
        device.write(together.value, found[inside].tobytes().ljust(4, b"\0"))

    s.before.append(gather)
    return together


def _ctc_loss(s: Setting) -> Calls:
    """Set gradients to 0 first: cuDNN leaves those of the steps from a sequence's length on as they are."""
    p, library, probs = s.problem, s.library, s.spec("probs")
    s.packed("input_lengths", "costs", "probs", "gradients")
    words = int(DataType.FLOAT), int(p.normalization), int(p.gradient_mode), p.longest
    how = s.descriptor("CTCLoss", "_v9", *words)
    labels = _concatenated(s)

    def shape(spec: TensorSpec) -> Any:  # of three dims, where others have four or more
        return s.descriptor("Tensor", "Nd", int(spec.dtype), 3, ints(spec.dims), ints(spec.strides))

    into, target = (
        (shape(p.gradients), s.data("gradients")) if p.gradients else (shape(probs), s.scratch(4 * probs.span))
    )
    if p.gradients:
        dims, strides = (*p.gradients.dims, 1), (*p.gradients.strides, 1)  # which cudnnSetTensor takes from 4 dims on
        whole = s.descriptor("Tensor", "Nd", int(p.gradients.dtype), 4, ints(dims), ints(strides))
        zero = library.bound("cudnnSetTensor", s.handle, whole, target, s.number(0.0))
        s.before.append(lambda device: zero())
    size = library.size("cudnnGetCTCLossWorkspaceSize_v8", s.handle, CTC_DETERMINISTIC, how, shape(probs), into)
    given = s.data("probs"), labels, s.data("label_lengths"), s.data("input_lengths"), s.data("costs")
    args = CTC_DETERMINISTIC, how, shape(probs), *given, into, target, size, s.scratch(size)
    return s.one("cudnnCTCLoss_v8", *args)


CALLS: Makers = {
    "activation_backward": _activation,
    "activation_forward": _activation,
    "add_tensor": _add,
    "convolution_backward_bias": _bias_gradient,
    "ctc_loss": _ctc_loss,
    "op_tensor": _op,
    "pooling_backward": _pooling,
    "pooling_forward": _pooling,
    "reduce_tensor": _reduce,
    "scale_tensor": _scale,
    "set_tensor": _set,
    "softmax_backward": _softmax,
    "softmax_forward": _softmax,
    "transform_tensor": _transform,
}
