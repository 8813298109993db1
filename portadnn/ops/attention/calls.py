"""Multi-head attention with projections: the three passes, sizes and parameters (cuDNN 7.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...arguments import as_integers
from ...descriptors import TensorDescriptor, check_descriptor
from ...dispatch.arrays import integers_on_device, spec_of, wrapped_one
from ...dispatch.choice import workspace_size
from ...dispatch.execute import computes, execute
from ...dispatch.problems import check_handle, make_problem
from ...enums import DataType
from ...errors import BadParam, public, shown
from ...handle import Handle
from ...problem import TensorSpec
from ..dropout import STATES_SIZE
from .descriptor import AttnDescriptor
from .layout import Heads, MultiHeadAttnWeightKind
from .problems import (
    Attention,
    MultiHeadAttnBackwardData,
    MultiHeadAttnBackwardWeights,
    MultiHeadAttnForward,
)

__all__ = [
    "get_multi_head_attn_buffers",
    "get_multi_head_attn_weights",
    "multi_head_attn_backward_data",
    "multi_head_attn_backward_weights",
    "multi_head_attn_forward",
]


def _checked(attn: Any) -> AttnDescriptor:
    return check_descriptor(attn, AttnDescriptor, "attn")


def _states(attn: AttnDescriptor) -> list[Any]:
    """Return the random states of both dropouts; None where nothing is dropped."""
    found = []
    for name in ("attn_dropout", "post_dropout"):
        dropout = getattr(attn, name)
        if dropout is not None and dropout.dropout > 0 and dropout.states is None:
            expected = "states, from set_dropout_descriptor or restore_dropout_descriptor"
            raise BadParam(argument=f"attn.{name}.states", expected=expected, got=None)
        found.append(dropout.states if dropout is not None and dropout.dropout > 0 else None)
    return found


def _integers(handle: Handle, **given: Any) -> list[Any]:
    """Return lengths and windows on the device."""
    device = check_handle(handle).device
    rows = given.get("windows")
    if isinstance(rows, (list, tuple)):
        if len(rows) != 2:
            raise BadParam(argument="windows", expected="two rows of integers", got=shown(rows))
        both = [as_integers(row, "windows", -(2**31)) for row in rows]
        if len(both[0]) != len(both[1]) or any(number >= 2**31 for row in both for number in row):
            raise BadParam(argument="windows", expected="two rows of as many integers of 32 bits", got=shown(rows))
        given["windows"] = np.array(both, np.int32)
    return [integers_on_device(device, values, name) for name, values in given.items()]


@computes
def multi_head_attn_forward(
    handle: Handle,
    q: Any,
    k: Any,
    v: Any,
    w: Any,
    attn: AttnDescriptor,
    *,
    residuals: Any = None,
    lengths_q: Any = None,
    lengths_kv: Any = None,
    windows: Any = None,
    out: Any = None,
    reserve: Any = None,
    workspace: Any = None,
) -> Any:
    """Compute multi-head attention with its projections (cudnnMultiHeadAttnForward of cuDNN 7.5).

    Each head projects queries, keys and values; softmax(scale * query . key) over the keys of a query's window weighs
    the values; all heads' results side by side are projected to the outputs, and residuals are added (Vaswani et al.
    2017).

    Parameters
    ----------
    handle
        Where to compute.
    q, k, v
        (steps, batch, beams, numbers), float16, bfloat16, float32 or float64, as are all tensors, of any strides.
        Keys and values have steps of their own, and one beam with ALL_TO_ONE.
    w
        Packed parameters (count,); :func:`get_multi_head_attn_weights` tells what lies where. None without projections.
    attn
        What is computed.
    residuals
        As `out`, added to it; None adds nothing.
    lengths_q, lengths_kv
        int32 (batch * beams,), of sequences beam by beam within each of the batch: the steps that count. Outputs behind
        them are 0, and keys and values behind them have no weight, whatever is there. None takes all steps.
        These and `windows` are read on the device; lists, and NumPy arrays where they are not the backend's own, are
        copied there.
    windows
        int32 (2, steps of q): the first key of each query's window, and the one behind its last. None takes all. A
        query whose window has no key gets weights of 0.
    out
        (steps, batch, beams, o_proj or heads * numbers of a head's value); None allocates it.
    reserve
        Byte buffer of at least :func:`get_multi_head_attn_buffers`' third number of bytes, for training; None is
        inference, which drops nothing.
    workspace
        Scratch memory; None lets the handle provide it.

    Returns
    -------
    array
        `out`.

    Raises
    ------
    BadParam
        Dims, types or sizes that do not fit.
    NotSupported
        An output overlaps itself, or more numbers than places of 32 bits reach.
    """
    params = _checked(attn)
    states = [None, None] if reserve is None else _states(attn)
    integers = _integers(handle, lengths_q=lengths_q, lengths_kv=lengths_kv, windows=windows)
    tensors = (q, k, v, w, residuals, *integers, out, reserve, *states)
    return execute(handle, MultiHeadAttnForward, tensors, params, (), workspace=workspace)[0]


@computes
def multi_head_attn_backward_data(
    handle: Handle,
    dout: Any,
    q: Any,
    k: Any,
    v: Any,
    w: Any,
    attn: AttnDescriptor,
    *,
    lengths_q: Any = None,
    lengths_kv: Any = None,
    windows: Any = None,
    dq: Any = None,
    dk: Any = None,
    dv: Any = None,
    reserve: Any = None,
    workspace: Any = None,
) -> tuple[Any, Any, Any]:
    """Return multi-head attention's gradients by queries, keys and values (cudnnMultiHeadAttnBackwardData).

    The gradient of residuals is `dout` itself.

    Parameters
    ----------
    handle, q, k, v, w, attn, lengths_q, lengths_kv, windows, workspace
        As for :func:`multi_head_attn_forward`.
    dout
        Gradient of the outputs, dims as theirs.
    dq, dk, dv
        As `q`, `k` and `v`; None allocates them. They are 0 behind the lengths.
    reserve
        What the forward pass left; :func:`multi_head_attn_backward_weights` reads what this call adds to it.

    Returns
    -------
    (array, array, array)

    Raises
    ------
    BadParam
        As for the forward pass, or no reserve space.
    """
    params = _checked(attn)
    if reserve is None:
        raise BadParam(argument="reserve", expected="the reserve space of the forward pass", got=None)
    integers = _integers(handle, lengths_q=lengths_q, lengths_kv=lengths_kv, windows=windows)
    tensors = (dout, q, k, v, w, *integers, dq, dk, dv, reserve)
    found = execute(handle, MultiHeadAttnBackwardData, tensors, params, (), workspace=workspace)
    return found[:3]  # type: ignore[no-any-return]


@computes
def multi_head_attn_backward_weights(
    handle: Handle,
    q: Any,
    k: Any,
    v: Any,
    dout: Any,
    reserve: Any,
    attn: AttnDescriptor,
    dw: Any,
    *,
    lengths_q: Any = None,
    lengths_kv: Any = None,
    workspace: Any = None,
) -> Any:
    """Add multi-head attention's gradient with respect to its parameters to dw (cudnnMultiHeadAttnBackwardWeights).

    Parameters
    ----------
    handle, q, k, v, attn, lengths_q, lengths_kv, workspace
        As for :func:`multi_head_attn_forward`.
    dout
        As :func:`multi_head_attn_backward_data` was given it.
    reserve
        What that call left.
    dw
        Laid out as the parameters; the gradient is added to what is there.

    Returns
    -------
    array
        `dw`.

    Raises
    ------
    BadParam
        As for the forward pass, or no dw.
    """
    params = _checked(attn)
    if dw is None:
        raise BadParam(argument="dw", expected="a tensor, because the gradient is added to it", got=None)
    integers = _integers(handle, lengths_q=lengths_q, lengths_kv=lengths_kv)
    tensors = (q, k, v, dout, reserve, *integers, dw)
    return execute(handle, MultiHeadAttnBackwardWeights, tensors, params, (), workspace=workspace)


def _spec(handle: Handle, value: Any, name: str) -> TensorSpec:
    if isinstance(value, TensorDescriptor):
        return value.spec
    if isinstance(value, TensorSpec):
        return value
    device = check_handle(handle).device
    return spec_of(device.signature(wrapped_one(device, value, name)), name)


@public
def get_multi_head_attn_buffers(handle: Handle, attn: AttnDescriptor, q: Any, k: Any, v: Any) -> tuple[int, int, int]:
    """Return the bytes of parameters, of workspace and of the reserve space (cudnnGetMultiHeadAttnBuffers).

    Parameters
    ----------
    handle, attn, q, k, v
        As :func:`multi_head_attn_forward` takes them; tensors may be :class:`TensorSpec` or :class:`TensorDescriptor`.

    Returns
    -------
    (int, int, int)
        The workspace suffices for every pass of such tensors.

    Raises
    ------
    BadParam
        Dims that do not fit.
    """
    _checked(attn)
    specs = {name: _spec(handle, value, name) for name, value in (("q", q), ("k", k), ("v", v))}
    problems = sizing_problems(handle, attn, specs)
    kept = problems[0].kept.size
    parameters = problems[0].layout.size * problems[0].dtype.itemsize
    return parameters, max(workspace_size(handle, problem) for problem in problems), kept


def sizing_problems(handle: Handle, attn: AttnDescriptor, specs: Mapping[str, TensorSpec]) -> list[Attention]:
    """Return the passes over such tensors, with everything that could be left out."""
    for name, spec in specs.items():
        if len(spec.dims) != 4:
            raise BadParam(argument=f"{name}.dims", expected="4 dims", got=spec.dims)
    q, k, v = (specs[name] for name in "qkv")
    sizes = (q.dims[1] * q.dims[2],), (k.dims[1] * k.dims[2],), (2, q.dims[0])
    integers = [TensorSpec.packed(DataType.INT32, dims) for dims in sizes]
    layout = attn.layout((q.dims[3], k.dims[3], v.dims[3]))
    parameters = TensorSpec.packed(q.dtype, (layout.size,)) if layout.size else None
    out = TensorSpec.packed(q.dtype, (*q.dims[:3], layout.out))
    states = [
        TensorSpec.packed(DataType.UINT8, (STATES_SIZE,)) if d is not None and d.dropout > 0 else None
        for d in (attn.attn_dropout, attn.post_dropout)
    ]
    given = (q, k, v, parameters, None, *integers, out, None, None, None)
    inference = make_problem(handle, MultiHeadAttnForward, given, attn)
    assert isinstance(inference, Attention)
    reserve = TensorSpec.packed(DataType.UINT8, (inference.kept.size,))
    calls: list[tuple[type[Attention], tuple[Any, ...]]] = [
        (MultiHeadAttnForward, (q, k, v, parameters, out, *integers, out, reserve, *states)),
        (MultiHeadAttnBackwardData, (out, q, k, v, parameters, *integers, q, k, v, reserve)),
    ]
    if parameters is not None:
        calls.append((MultiHeadAttnBackwardWeights, (q, k, v, out, reserve, *integers[:2], parameters)))
    found = [inference, *(make_problem(handle, kind, tensors, attn) for kind, tensors in calls)]
    return found  # type: ignore[return-value]


@public
def get_multi_head_attn_weights(
    handle: Handle, attn: AttnDescriptor, sizes: tuple[int, int, int], w: Any, kind: MultiHeadAttnWeightKind
) -> Any:
    """Return one group of multi-head attention's parameters (cudnnGetMultiHeadAttnWeights).

    Parameters
    ----------
    handle
        Where `w` lives.
    attn
        What is computed.
    sizes
        Numbers of a query, a key and a value.
    w
        The parameters.
    kind
        Which group.

    Returns
    -------
    array or None
        In the memory of `w`: (heads, projected, original) of queries, keys and values, (heads, outputs, values) of the
        outputs; biases (heads, projected, 1), and of the outputs (1, outputs, 1). None where there is none.

    Raises
    ------
    BadParam
        Parameters of another size, or an unknown kind.
    """
    _checked(attn)
    which = MultiHeadAttnWeightKind.parse(kind, "kind")
    lengths = as_integers(sizes, "sizes", 1)
    if len(lengths) != 3:
        raise BadParam(argument="sizes", expected="those of queries, keys and values", got=shown(sizes))
    layout = attn.layout(lengths)
    spec = _spec(handle, w, "w")
    if spec.dims != (layout.size,) or not spec.is_packed():
        raise BadParam(argument="w.dims", expected=f"({layout.size},), packed", got=str(spec))
    first, part = group_of(layout, which, spec.dtype)
    if part is None:
        return None
    device = check_handle(handle).device
    return device.wrap(TensorDescriptor(part.dims, part.dtype, strides=part.strides).view(w, first), "w")


def group_of(layout: Heads, kind: MultiHeadAttnWeightKind, dtype: DataType) -> tuple[int, TensorSpec | None]:
    """Return at which of the parameters a group begins, and its dims and strides; None where there is none."""
    which, bias = int(kind) % 4, int(kind) >= 4
    size, heads = layout.projections[which], layout.heads
    if not size or (bias and not layout.biases):
        return 0, None
    if bias:
        dims = (1, size, 1) if which == 3 else (heads, size, 1)
        return layout.bias(which), TensorSpec.packed(dtype, dims)
    if which == 3:
        value = layout.head(2)
        return layout.matrix(3), TensorSpec(dtype, (heads, size, value), (value, layout.merged, 1))
    return layout.matrix(which), TensorSpec.packed(dtype, (heads, size, layout.sizes[which]))
