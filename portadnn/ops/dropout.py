"""Dropout: descriptor, random states, reserve space, forward and backward (guide sections 4.111 to 4.117)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arguments import as_integer, as_real
from ..descriptors import Parameters, TensorDescriptor, check_descriptor, logical_dims
from ..dispatch.execute import computes, execute
from ..dispatch.problems import check_handle
from ..enums import DataType
from ..errors import BadParam, public, shown
from ..handle import Handle
from ..host_arrays import is_masked
from ..problem import Problem, TensorSpec, check_raw, check_same

__all__ = [
    "DropoutDescriptor",
    "dropout_backward",
    "dropout_forward",
    "dropout_get_reserve_space_size",
    "dropout_get_states_size",
    "get_dropout_descriptor",
    "restore_dropout_descriptor",
    "set_dropout_descriptor",
]

STATES_SIZE = 32  # bytes, little-endian: seed (64 bits), draw (64), work-groups that are through (32), nothing (96)


def reserve_space_size(count: int) -> int:
    """Return the bytes that the mask of `count` elements takes: a bit each, in whole words of 32 bits."""
    return -(-count // 32) * 4


def _bytes(size: int) -> TensorSpec:
    return TensorSpec.packed(DataType.UINT8, (size,))


def _check_dropout(dropout: float) -> None:
    if not 0 <= dropout <= 1:
        raise BadParam(argument="dropout", expected="a probability, 0 to 1", got=dropout)


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 2**64:
        raise BadParam(argument="seed", expected="an integer of 64 bits, >= 0", got=seed)


@dataclass(frozen=True)
class SetDropoutDescriptor(Problem):
    """Start the random numbers of `seed`: write the states."""

    op: ClassVar[str] = "set_dropout_descriptor"
    outputs: ClassVar[tuple[str, ...]] = ("states",)
    scalars: ClassVar[dict[str, float]] = {}
    raw: ClassVar[tuple[str, ...]] = ("states",)

    states: TensorSpec
    seed: int = 0

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        values.setdefault("states", _bytes(STATES_SIZE))

    def validate(self) -> None:
        super().validate()
        check_raw(self.states, "states", STATES_SIZE)
        _check_seed(self.seed)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return {"states"}

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [0.5, arrays.get("states")], {"seed": self.seed}


@dataclass(frozen=True)
class DropoutForward(Problem):
    """y = x / (1 - dropout) where the mask keeps x, 0 elsewhere; the mask goes to the reserve space."""

    matrices = True

    op: ClassVar[str] = "dropout_forward"
    inputs: ClassVar[tuple[str, ...]] = ("x",)
    outputs: ClassVar[tuple[str, ...]] = ("y", "reserve_space", "states")
    scalars: ClassVar[dict[str, float]] = {}
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("y", "x"),)
    raw: ClassVar[tuple[str, ...]] = ("reserve_space", "states")

    x: TensorSpec
    y: TensorSpec
    reserve_space: TensorSpec
    states: TensorSpec
    dropout: float

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "x" in values:
            x = values["x"]
            values.setdefault("y", x.like(x.dims))
            values.setdefault("reserve_space", _bytes(reserve_space_size(x.size)))
        values.setdefault("states", _bytes(STATES_SIZE))

    def validate(self) -> None:
        super().validate()
        _check_dropout(self.dropout)
        check_same(self.x, "x", self.y, "y")
        check_raw(self.reserve_space, "reserve_space", reserve_space_size(self.x.size))
        check_raw(self.states, "states", STATES_SIZE)

    def flops(self) -> int:
        return self.x.size

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return {"y", "reserve_space"}

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        descriptor = DropoutDescriptor(self.dropout, arrays["states"])
        return [arrays["x"], descriptor, arrays.get("y"), arrays.get("reserve_space")], {}


@dataclass(frozen=True)
class DropoutBackward(Problem):
    """dx = dy / (1 - dropout) where the mask in the reserve space kept x, 0 elsewhere."""

    matrices = True

    op: ClassVar[str] = "dropout_backward"
    inputs: ClassVar[tuple[str, ...]] = ("dy", "reserve_space")
    outputs: ClassVar[tuple[str, ...]] = ("dx",)
    scalars: ClassVar[dict[str, float]] = {}
    in_place: ClassVar[tuple[tuple[str, str], ...]] = (("dx", "dy"),)
    raw: ClassVar[tuple[str, ...]] = ("reserve_space",)

    dy: TensorSpec
    reserve_space: TensorSpec
    dx: TensorSpec
    dropout: float

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "dy" in values:
            dy = values["dy"]
            values.setdefault("dx", dy.like(dy.dims))
            values.setdefault("reserve_space", _bytes(reserve_space_size(dy.size)))

    def validate(self) -> None:
        super().validate()
        _check_dropout(self.dropout)
        check_same(self.dy, "dy", self.dx, "dx")
        check_raw(self.reserve_space, "reserve_space", reserve_space_size(self.dy.size))

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        descriptor = DropoutDescriptor(self.dropout, arrays["reserve_space"])  # states that are not looked at
        return [arrays["dy"], descriptor, arrays["reserve_space"], arrays.get("dx")], {}


@dataclass(frozen=True, eq=False)
class DropoutDescriptor(Parameters):
    """Probability of dropout, and the states that its random numbers come from (guide sections 4.111, 4.112 and 4.115).

    The descriptor alone starts no random numbers (the guide's call with ``states == NULL``);
    :func:`set_dropout_descriptor` does. Descriptors are equal when they are the same.

    Parameters
    ----------
    dropout
        Share of the elements that become 0; the others are divided by ``1 - dropout``.
    states
        A buffer of :func:`dropout_get_states_size` bytes or more that already holds states, or None.
    seed
        The seed that the states came from, for :func:`get_dropout_descriptor`.

    Raises
    ------
    BadParam
        `dropout` is no number from 0 to 1, or `seed` no integer of 64 bits.
    """

    by_value: ClassVar[bool] = False
    dropout: float
    states: Any = None
    seed: int = 0

    @public
    def __post_init__(self) -> None:
        number = as_real(self.dropout, "dropout", "a probability, 0 to 1")
        _check_dropout(number)
        seed = as_integer(self.seed, "seed", expected="an integer of 64 bits, >= 0")
        _check_seed(seed)
        self._set(dropout=number, states=self.states, seed=seed)

    @property
    def params(self) -> tuple[Any, ...]:
        """The value that the dropout Problems take."""
        return (self.dropout,)


@public
def set_dropout_descriptor(handle: Handle, dropout: float, states: Any = None, seed: int = 0) -> DropoutDescriptor:
    """Start the random numbers of `seed` and return their descriptor (guide section 4.115).

    Parameters
    ----------
    handle
        Where the states lie.
    dropout
        Share of the elements that become 0.
    states
        A buffer of at least :func:`dropout_get_states_size` bytes, aligned to 16, which is overwritten: any native
        uint8 array of one dim. None makes one. Each forward call changes it; copy it to save the random numbers'
        place, and pass the copy to :func:`restore_dropout_descriptor`.
    seed
        An integer of 64 bits. The same seed gives the same masks on every backend and device.

    Raises
    ------
    BadParam
        As :class:`DropoutDescriptor`; or `states` is too small.
    """
    descriptor = DropoutDescriptor(dropout, None, seed)
    states = execute(handle, SetDropoutDescriptor, (states,), (descriptor.seed,), ())
    return DropoutDescriptor(descriptor.dropout, states, descriptor.seed)


@public
def restore_dropout_descriptor(handle: Handle, dropout: float, states: Any, seed: int = 0) -> DropoutDescriptor:
    """Return a descriptor that goes on where saved states left off (cudnnRestoreDropoutDescriptor of cuDNN 7).

    Parameters
    ----------
    handle
        Where the states lie.
    dropout
        As for :func:`set_dropout_descriptor`; it may be another one.
    states
        The bytes that the states held when they were saved: a native uint8 array of this handle, which forward
        calls go on to change. A NumPy array is copied to the device.
    seed
        For :func:`get_dropout_descriptor` only: the states hold theirs.

    Raises
    ------
    BadParam
        As :class:`DropoutDescriptor`; or `states` is None.
    """
    device = check_handle(handle).device
    if states is None:
        raise BadParam(argument="states", expected="a buffer with saved states", got=None)
    if isinstance(states, np.ndarray) and not device.owns(states):
        if states.dtype != np.uint8 or is_masked(states):
            raise BadParam(argument="states", expected="an array of uint8 without a mask", got=shown(states))
        states = device.asarray(np.array(states, order="C", subok=False))
    return DropoutDescriptor(dropout, states, seed)


@public
def get_dropout_descriptor(dropout: DropoutDescriptor) -> tuple[float, Any, int]:
    """Return (dropout, states, seed) of a descriptor (cudnnGetDropoutDescriptor of cuDNN 7)."""
    descriptor = check_descriptor(dropout, DropoutDescriptor, "dropout")
    return (descriptor.dropout, descriptor.states, descriptor.seed)


def _check_dropout_descriptor(dropout: Any) -> DropoutDescriptor:
    """Demand a descriptor with states, in both directions as the guide does."""
    descriptor = check_descriptor(dropout, DropoutDescriptor, "dropout")
    if descriptor.states is None:
        raise BadParam(
            argument="dropout.states",
            expected="states, from set_dropout_descriptor or restore_dropout_descriptor",
            got=None,
        )
    return descriptor


@public
def dropout_get_states_size(handle: Handle) -> int:
    """Return the bytes that random states take (guide section 4.113); the same on every device."""
    check_handle(handle)
    return STATES_SIZE


@public
def dropout_get_reserve_space_size(x: TensorDescriptor | tuple[int, ...]) -> int:
    """Return the bytes that dropout of a tensor keeps for the backward call (guide section 4.114).

    It is one bit per element, rounded up to words of 32 bits. Bit i % 8 of byte i / 8 is 1 where element i is kept,
    elements counted in logical order (n, c, [d,] h, w) whatever the layout, as cuDNN does.

    Parameters
    ----------
    x
        The tensor's descriptor, or its dims.

    Raises
    ------
    BadParam, NotSupported
        `x` is no descriptor and no dims.
    """
    return reserve_space_size(math.prod(logical_dims(x, "x", TensorDescriptor)))


@computes
def dropout_forward(
    handle: Handle, x: Any, dropout: DropoutDescriptor, y: Any = None, reserve_space: Any = None
) -> tuple[Any, Any]:
    """Drop elements at random: ``y = x / (1 - p)`` where they are kept, else 0 (guide section 4.116).

    Which ones depends on the states' seed, on how many forward calls there were since it was set, and on an element's
    logical index; not on layout, type or device. `dropout` 0 copies, 1 gives zeros. A dropped infinity or NaN gives 0.
    A call on an empty tensor draws nothing.

    Parameters
    ----------
    handle
        Where to compute.
    x, y
        Tensors of 3 to 8 dims, float16, bfloat16, float32 or float64, of equal dims and type and any strides. `y` may
        be `x` itself, or left out.
    dropout
        Probability and states; the states go on to the next draw.
    reserve_space
        Bytes for the mask, at least :func:`dropout_get_reserve_space_size` of them and aligned to 16, or left out.

    Returns
    -------
    y, reserve_space
        Keep the reserve space for :func:`dropout_backward`.

    Raises
    ------
    BadParam
        Dims or types differ, the reserve space is too small, the descriptor has no states, or in place with other
        strides.
    """
    descriptor = _check_dropout_descriptor(dropout)
    tensors = (x, y, reserve_space, descriptor.states)
    y, reserve_space, _ = execute(handle, DropoutForward, tensors, descriptor.params, ())
    return y, reserve_space


@computes
def dropout_backward(handle: Handle, dy: Any, dropout: DropoutDescriptor, reserve_space: Any, dx: Any = None) -> Any:
    """Return dropout's gradient: ``dx = dy / (1 - p)`` where x was kept, else 0 (guide section 4.117).

    Parameters
    ----------
    handle
        Where to compute.
    dy, dx
        Tensors as x and y of :func:`dropout_forward`, of x's dims in any layout. `dx` may be `dy` itself, or left out.
    dropout
        As given to the forward call; its states are neither read nor changed.
    reserve_space
        What the forward call wrote.

    Returns
    -------
    array
        `dx`.

    Raises
    ------
    BadParam
        As :func:`dropout_forward`.
    """
    descriptor = _check_dropout_descriptor(dropout)
    return execute(handle, DropoutBackward, (dy, reserve_space, dx), descriptor.params, ())
