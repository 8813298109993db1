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
from .descriptors import Opaque, made, wide_of
from .generated.enums import miopenRNGType_t
from .names import boolean, integer, number, parse, refuse
from .workspaces import given_workspace


@dataclass(frozen=True)
class DropoutSettings:
    """What a dropout descriptor was set to."""

    descriptor: ours.DropoutDescriptor
    use_mask: bool
    state_evo: bool
    rng_mode: miopenRNGType_t


class miopenDropoutDescriptor_t(Opaque):
    """Probability, random states and options of a dropout."""


def miopenDropoutGetReserveSpaceSize(x):
    return ours.reserve_space_size(x.size)


def _options(dropout: Any, use_mask: Any, state_evo: Any, rng_mode: Any) -> tuple[float, bool, bool, miopenRNGType_t]:
    if boolean(state_evo, "state_evo"):
        raise NotSupported("a placeholder in MIOpen", argument="state_evo", expected="False", got=True)
    kind = parse(miopenRNGType_t, rng_mode, "rng_mode")
    return number(dropout, "dropout"), boolean(use_mask, "use_mask"), False, kind


def _set(handle: Any, desc: Any, options: tuple[Any, ...], states: Any, size: Any, seed: Any, make: Any) -> None:
    made(desc, miopenDropoutDescriptor_t, "dropoutDesc")
    share, masked, evolving, kind = _options(*options)
    needed = ours.dropout_get_states_size(handle)
    memory = given_workspace(handle, states, size, needed, "states")
    ours.DropoutDescriptor(share, None, seed)
    desc.value = DropoutSettings(make(handle, share, _bytes(handle, memory, needed), seed), masked, evolving, kind)


def miopenSetDropoutDescriptor(handle, dropoutDesc, dropout, states, stateSizeInBytes, seed, *options):
    given = (dropout, *options)
    _set(handle, dropoutDesc, given, states, stateSizeInBytes, seed, ours.set_dropout_descriptor)


def miopenRestoreDropoutDescriptor(handle, dropoutDesc, dropout, states, stateSizeInBytes, seed, *options):
    given = (dropout, *options)
    _set(handle, dropoutDesc, given, states, stateSizeInBytes, seed, ours.restore_dropout_descriptor)


def miopenGetDropoutDescriptor(handle, dropout):
    check_handle(handle)
    ours = dropout.descriptor
    return ours.dropout, ours.states, ours.seed, dropout.use_mask, dropout.state_evo, dropout.rng_mode


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


def miopenDropoutForward(handle, dropout, x, y, noise_shape, xDesc, reserveSpace, reserveSpaceSizeInBytes):
    _check_noise(noise_shape, xDesc.wide)
    mask = None
    if dropout.use_mask or reserveSpace is not None:
        mask = _reserve(handle, reserveSpace, reserveSpaceSizeInBytes, xDesc.wide)
    if dropout.use_mask:
        ours.dropout_backward(handle, x, dropout.descriptor, mask, y)
    else:
        ours.dropout_forward(handle, x, dropout.descriptor, y, mask)


def miopenDropoutBackward(handle, dropout, dy, dx, noise_shape, dyDesc, reserveSpace, reserveSpaceSizeInBytes):
    _check_noise(noise_shape, dyDesc.wide)
    if reserveSpace is None:
        raise BadParam(argument="reserveSpace", expected="what the forward call wrote", got=None)
    mask = _reserve(handle, reserveSpace, reserveSpaceSizeInBytes, dyDesc.wide)
    ours.dropout_backward(handle, dy, dropout.descriptor, mask, dx)
