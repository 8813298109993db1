"""Dropout. The mask in the reserve space has one bit for each element, where MIOpen's has a byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..descriptors import TensorView
from ..dispatch.arrays import wrap
from ..dispatch.problems import check_handle
from ..enums import DataType
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..ops import dropout as ours
from ..problem import TensorSpec
from .descriptors import Opaque, creator, destroy, made, miopenTensorDescriptor_t, spec_of, tensor, value_of, wide_of
from .enums import miopenRNGType_t
from .names import boolean, function, integer, number, parse, refuse
from .workspaces import given_workspace

Desc = miopenTensorDescriptor_t


@dataclass(frozen=True)
class DropoutSettings:
    """What a dropout descriptor was set to."""

    descriptor: ours.DropoutDescriptor
    use_mask: bool
    state_evo: bool
    rng_mode: miopenRNGType_t


class miopenDropoutDescriptor_t(Opaque):
    """Probability, random states and options of a dropout."""


miopenCreateDropoutDescriptor = creator("miopenCreateDropoutDescriptor", miopenDropoutDescriptor_t)


@function
def miopenDestroyDropoutDescriptor(dropoutDesc: miopenDropoutDescriptor_t) -> None:
    """Destroy a descriptor."""
    destroy(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc")


@function
def miopenDropoutGetStatesSize(handle: Handle) -> int:
    """Return the bytes of the random states; the same on every device."""
    return ours.dropout_get_states_size(handle)


@function
def miopenDropoutGetReserveSpaceSize(xDesc: Desc) -> int:
    """Return the bytes of the mask: a bit for each element, in words of 32."""
    return ours.reserve_space_size(spec_of(xDesc, "xDesc").size)


def _options(dropout: Any, use_mask: Any, state_evo: Any, rng_mode: Any) -> tuple[float, bool, bool, miopenRNGType_t]:
    if boolean(state_evo, "state_evo"):
        raise NotSupported("a placeholder in MIOpen", argument="state_evo", expected="False", got=True)
    kind = parse(miopenRNGType_t, rng_mode, "rng_mode")
    return number(dropout, "dropout"), boolean(use_mask, "use_mask"), False, kind


@function
def miopenSetDropoutDescriptor(
    dropoutDesc: miopenDropoutDescriptor_t,
    handle: Handle,
    dropout: float,
    states: Any,
    stateSizeInBytes: int,
    seed: int,
    use_mask: bool,
    state_evo: bool,
    rng_mode: Any,
) -> None:
    """Choose the share of elements that become 0, and start the random numbers of `seed` in `states`.

    The generator is portadnn's own (Philox) for every `rng_mode`. With `use_mask` forward calls draw nothing: they
    apply the mask in the reserve space.
    """
    desc = made(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc")
    share, masked, evolving, kind = _options(dropout, use_mask, state_evo, rng_mode)
    needed = ours.dropout_get_states_size(handle)
    memory = given_workspace(handle, states, stateSizeInBytes, needed, "states")
    ours.DropoutDescriptor(share, None, seed)
    started = ours.set_dropout_descriptor(handle, share, _bytes(handle, memory, needed), seed)
    desc.value = DropoutSettings(started, masked, evolving, kind)


@function
def miopenRestoreDropoutDescriptor(
    dropoutDesc: miopenDropoutDescriptor_t,
    handle: Handle,
    dropout: float,
    states: Any,
    stateSizeInBytes: int,
    seed: int,
    use_mask: bool,
    state_evo: bool,
    rng_mode: Any,
) -> None:
    """Go on with states that were saved."""
    desc = made(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc")
    share, masked, evolving, kind = _options(dropout, use_mask, state_evo, rng_mode)
    needed = ours.dropout_get_states_size(handle)
    memory = given_workspace(handle, states, stateSizeInBytes, needed, "states")
    restored = ours.restore_dropout_descriptor(handle, share, _bytes(handle, memory, needed), seed)
    desc.value = DropoutSettings(restored, masked, evolving, kind)


@function
def miopenGetDropoutDescriptor(
    dropoutDesc: miopenDropoutDescriptor_t, handle: Handle
) -> tuple[float, Any, int, bool, bool, miopenRNGType_t]:
    """Return (dropout, states, seed, use_mask, state_evo, rng_mode)."""
    check_handle(handle)
    value = value_of(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc")
    return (
        value.descriptor.dropout,
        value.descriptor.states,
        value.descriptor.seed,
        value.use_mask,
        value.state_evo,
        value.rng_mode,
    )


def _bytes(handle: Handle, memory: Any, size: int) -> Any:
    """Return memory as an array of bytes."""
    spec = TensorSpec(DataType.UINT8, (size,), (1,))
    return wrap(check_handle(handle).device, TensorView(spec, memory), "states")


def _reserve(handle: Handle, memory: Any, size: Any, spec: TensorSpec) -> Any:
    needed = ours.reserve_space_size(spec.size)
    if memory is None or integer(size, "reserveSpaceSizeInBytes") < needed:
        got = "None" if memory is None else f"{size} bytes"
        refuse("insufficient reserve space", argument="reserveSpace", expected=f"at least {needed} bytes", got=got)
    return _bytes(handle, given_workspace(handle, memory, size, needed, "reserveSpace"), needed)


def _check_noise(noise_shape: Any, spec: TensorSpec) -> None:
    noise = wide_of(noise_shape, "noise_shape")
    if noise.size != spec.size or len(noise.dims) != len(spec.dims):
        refuse("MIOpen supports regular noise only", argument="noise_shape", expected=str(spec.dims), got=noise.dims)


@function
def miopenDropoutForward(
    handle: Handle,
    dropoutDesc: miopenDropoutDescriptor_t,
    noise_shape: Desc,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Drop elements at random and keep the mask, or apply the mask that there is (`use_mask` of the descriptor)."""
    value = value_of(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc")
    given, out = tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y")
    _check_noise(noise_shape, xDesc.wide)
    if value.use_mask:
        mask = _reserve(handle, reserveSpace, reserveSpaceSizeInBytes, xDesc.wide)
        ours.dropout_backward(handle, given, value.descriptor, mask, out)
        return
    mask = None
    if reserveSpace is not None:
        mask = _reserve(handle, reserveSpace, reserveSpaceSizeInBytes, xDesc.wide)
    ours.dropout_forward(handle, given, value.descriptor, out, mask)


@function
def miopenDropoutBackward(
    handle: Handle,
    dropoutDesc: miopenDropoutDescriptor_t,
    noise_shape: Desc,
    dyDesc: Desc,
    dy: Any,
    dxDesc: Desc,
    dx: Any,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Apply the forward call's mask to the gradient."""
    value = value_of(dropoutDesc, miopenDropoutDescriptor_t, "dropoutDesc")
    given, out = tensor(handle, dyDesc, dy, "dy"), tensor(handle, dxDesc, dx, "dx")
    _check_noise(noise_shape, dyDesc.wide)
    if reserveSpace is None:
        raise BadParam(argument="reserveSpace", expected="what the forward call wrote", got=None)
    mask = _reserve(handle, reserveSpace, reserveSpaceSizeInBytes, dyDesc.wide)
    ours.dropout_backward(handle, given, value.descriptor, mask, out)
