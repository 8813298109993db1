"""Variant packs: from what a program passes to the arrays that a plan takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..descriptors import TensorView
from ..dispatch.alignment import tell_of_copies
from ..dispatch.arrays import wrap
from ..enums import plain_number
from ..errors import BadParam, shown
from ..problem import TensorSpec
from .errors import GraphError
from .memory import bits, ragged
from .memory import host as memory
from .memory.apart import in_place
from .operation_graph import OperationGraph, TensorInfo
from .rules import fail
from .tensor import tensor

if TYPE_CHECKING:
    from portadnn_backends.base import Device


def by_uid(
    graph: OperationGraph, pack: Mapping[Any, Any], known: Mapping[int, tensor], notes: list[GraphError] | None = None
) -> dict[int, Any]:
    """Return a pack's values by uid. Keys are tensors, uids or names; None as a key or as a value is skipped.

    Parameters
    ----------
    known
        The program's tensors by uid; one that no operation uses is skipped.
    notes
        Receives what is said of uids that the graph does not have, and of buffers for virtual tensors: nothing reads
        or writes these. Without it they are refused.

    Raises
    ------
    InvalidVariantPack
        Keys that are no tensor of the graph, virtual tensors, or missing tensors (PG-PACK-001 to 003, 008, 009).
    """
    values: dict[int, Any] = {}
    for key, value in pack.items():
        if key is None or value is None:
            continue
        uid = key.get_uid() if isinstance(key, tensor) else _named(graph, key) if isinstance(key, str) else key
        number = plain_number(uid)
        info = None if number is None else graph.by_uid.get(number)
        if info is None:
            if number in known:
                continue
            names = ", ".join(f"{i.uid} ('{i.name}')" for i in graph.packed)
            error = fail("PG-PACK-002", expected=f"a tensor or a uid of {names}", got=shown(key))
            _unread(error, notes if number is key else None)
            continue
        if info.virtual:
            fix = "set_output(True) before build, or leave it out"
            _unread(fail("PG-PACK-003", tensor=info.describe(), fix=fix), notes)
            continue
        if info.constant:
            raise fail(
                "PG-PACK-009", tensor=info.describe(), fix="leave it out, or make it with scalar_type.RUNTIME_PARAM"
            )
        if info.uid in values and values[info.uid] is not value:
            raise fail("PG-PACK-008", tensor=info.describe(), fix="pass it once")
        values[info.uid] = value
    missing = [info for info in graph.packed if info.uid not in values and info.value is None]
    if missing:
        raise fail(
            "PG-PACK-001",
            expected=f"a buffer for each of {len(graph.packed)} tensors",
            got=f"none for {'; '.join(info.describe() for info in missing)}",
            fix=f"add the keys {[info.uid for info in missing]}",
        )
    return values


def _unread(error: GraphError, notes: list[GraphError] | None) -> None:
    """Note that nothing reads or writes a buffer, or refuse it."""
    if notes is None:
        raise error
    notes.append(error)


def _named(graph: OperationGraph, name: str) -> int:
    """Return the uid of the one tensor of a name."""
    found = [info.uid for info in graph.packed if info.name == name]
    if len(found) != 1:
        names = ", ".join(f"'{info.name}'" for info in graph.packed)
        raise fail("PG-PACK-002", expected=f"the name of one tensor, of {names}", got=shown(name))
    return found[0]


@dataclass
class Bound:
    """A pack as a plan takes it.

    Attributes
    ----------
    written : collection of int
        The uids of tensors that the graph writes.
    arrays : dict
        Arrays of the device and numbers, by uid.
    returns : list of Copied
        Host arrays to be filled from copies on the device.
    operands : list
        What was passed of the pack and lies where the device computes.
    notes : list of GraphError
        What is unusual about the pack.
    """

    written: Collection[int]
    arrays: dict[int, Any] = field(default_factory=dict)
    returns: list[Copied | bits.Packed] = field(default_factory=list)
    operands: list[Any] = field(default_factory=list)
    notes: list[GraphError] = field(default_factory=list)

    def fetch(self, device: Device) -> None:
        """Copy the results of host arrays back."""
        for copied in self.returns:
            copied.fetch(device)


@dataclass(frozen=True)
class Copied:
    """An output in host memory, and its copy on the device.

    Attributes
    ----------
    host : numpy.ndarray
        Of the graph's type, dims and strides; in one dim for a ragged tensor.
    flat : object
        The device's array of all that lies between its elements, too.
    before : numpy.ndarray
        The bytes that were copied.
    """

    info: TensorInfo
    host: npt.NDArray[Any]
    flat: Any
    before: npt.NDArray[np.uint8]

    def fetch(self, device: Device) -> None:
        """Write what the graph computed, and nothing between: that may be another output's, or not be known here."""
        memory.write(self.info, memory.flat(self.host).view(np.uint8), device.read_bytes(self.flat), self.before)


def works_on_host(device: Device) -> bool:
    """Tell whether a device computes in the host's memory, on NumPy's arrays."""
    return device.owns(np.empty(0))


def bind(
    graph: OperationGraph, device: Device, pack: Mapping[Any, Any], known: Mapping[int, tensor], *, exact: bool = False
) -> Bound:
    """Turn a pack into arrays of a device; `known` as :func:`by_uid` takes it, `exact` refuses what nothing reads.

    Native arrays of the device, and foreign ones on it, are used where they lie. Host memory is, too, where the device
    works there (reference, CPUs) and the memory is aligned; otherwise it is copied, and results are copied back.

    Raises
    ------
    InvalidVariantPack
        Keys or values that do not fit (PG-PACK-001 to 010).
    """
    bound = Bound(graph.results)
    values = by_uid(graph, pack, known, None if exact else bound.notes)
    on_host = works_on_host(device)
    hosts: dict[int, tuple[TensorInfo, npt.NDArray[Any]]] = {}
    for info in graph.packed:
        if info.by_value:
            value = values.get(info.uid, info.value)
            bound.arrays[info.uid] = info.data_type.rounded(memory.number(value, info, bound.notes)).item()
            continue
        if info.uid in graph.peers:
            bound.arrays[info.uid] = _peer(device, values[info.uid], info)
            bound.operands.append(values[info.uid])
            continue
        value = values[info.uid] = memory.plain_tensor(values[info.uid], info, bound.notes)
        packed = bits.of_host(value, info, output=info.uid in graph.results)
        if packed is not None:
            bound.arrays[info.uid] = _unpacked(device, packed, bound)
        elif on_host or memory.is_host(value) or (device.host_memory and memory.address_of(value) is not None):
            host = memory.view(value, info, output=info.uid in graph.results, notes=bound.notes)
            hosts[info.uid] = (info, host)
        else:
            array = _native(device, value, info, bound)
            if not isinstance(array, bits.Bits):
                _check_native(device, array, info, output=info.uid in graph.results)
                bound.operands.append(value)
            bound.arrays[info.uid] = _unpacked(device, array, bound) if isinstance(array, bits.Bits) else array
    _check_offsets(graph, {uid: host for uid, (_, host) in hosts.items()})
    aside = in_place(graph, hosts)
    for uid, (info, host) in hosts.items():
        if on_host:
            bound.arrays[uid] = host if uid not in aside else _aside(host, info, bound)
        else:
            bound.arrays[uid] = _on_device(device, host, info, bound, values[uid], aside)
    return bound


def _unpacked(device: Device, packed: bits.Bits, bound: Bound) -> Any:
    """Return bits as an array of the device, with a note; results are packed again once everything is computed."""
    info = packed.info
    bound.notes.append(fail("PG-PACK-014", tensor=info.describe(), fix="pass a byte for each element to save copies"))
    if works_on_host(device):
        content: Any = packed.opened()
        array: Any = memory.view(content, info, output=True)
    else:
        content = device.asarray(packed.opened())
        array = device.wrap(TensorView(info.spec, content), info.name)
    if info.uid in bound.written:
        bound.returns.append(bits.Packed(packed, content))
    return array


def _peer(device: Device, value: Any, info: TensorInfo) -> Any:
    """Return a rank's peer buffer as the device takes it."""
    try:
        return device.peer_buffer(value, info.spec, info.name)
    except BadParam as error:
        fix = "pass the same buffers, in the order of the ranks, on all ranks"
        raise fail("PG-PACK-006", tensor=info.describe(), expected=error.expected, got=error.got, fix=fix) from error


def _aside(host: npt.NDArray[Any], info: TensorInfo, bound: Bound) -> npt.NDArray[Any]:
    """Return other memory for a result, to be copied once everything is computed."""
    content = memory.flat(host)
    copied = content.copy()
    bound.returns.append(Copied(info, host, copied, content.view(np.uint8).copy()))
    return memory.view(copied, info, output=True)


def _check_offsets(graph: OperationGraph, hosts: Mapping[int, npt.NDArray[Any]]) -> None:
    """Refuse ragged offsets that lead out of a tensor's memory, where both are the host's."""
    for info in graph.packed:
        offsets = None if info.ragged_offset is None else hosts.get(info.ragged_offset)
        if offsets is not None and info.uid in hosts:
            ragged.check(info, offsets, hosts[info.uid].size, ragged.rows_of(graph, info.uid, hosts))


def in_workspace(device: Device, workspace: Any, offset: int, info: TensorInfo) -> Any:
    """Return the tensor that lies in a workspace, from byte `offset` on, as an array of the device."""
    if works_on_host(device):
        return memory.view(np.frombuffer(workspace, np.uint8)[offset:], info, output=True)
    spec = info.spec
    return device.wrap(TensorView(spec, workspace, offset // spec.dtype.itemsize), info.name)


def lies_as(array: Any, spec: TensorSpec) -> bool:
    """Tell whether a native array has just these dims, strides and elements."""
    if array.shape != spec.dims or array.dtype != spec.dtype.storage:
        return False
    size = spec.dtype.itemsize
    return all(have == want * size for have, want in zip(array.strides, spec.strides, strict=True))


def _on_device(
    device: Device, host: npt.NDArray[Any], info: TensorInfo, bound: Bound, value: Any, aside: Collection[int]
) -> Any:
    """Return an array in host memory as one of the device: in that memory where the device computes there.

    Results `aside` get other memory all the same.
    """
    spec, content = info.spec, memory.flat(host)
    if spec.dtype is not info.data_type.problem_type:
        content = content.view(np.uint8)
    if device.host_memory and host.ctypes.data % host.itemsize == 0 and info.uid not in aside:
        bound.operands.append(value)
        flat: Any = content
    else:
        if device.host_memory and info.uid not in aside:
            tell_of_copies(device)
        flat = device.asarray(content)
        if info.uid in bound.written:
            bound.returns.append(Copied(info, host, flat, content.view(np.uint8).copy()))
    if info.ragged_offset is not None:
        return flat if device.owns(flat) else device.wrap(flat, info.name)
    return device.wrap(TensorView(spec, flat), info.name)


def _check_native(device: Device, array: Any, info: TensorInfo, *, output: bool) -> None:
    """Refuse an array of the device that is not aligned to its elements, or that may not be written."""
    misalignment, size = device.signature(array)[3], info.data_type.storage.itemsize
    if misalignment % size:
        raise fail(
            "PG-PACK-006",
            tensor=info.describe(),
            expected=f"an address that is a multiple of {size} bytes",
            got=f"{misalignment} mod 16",
            fix="copy it",
        )
    if output and device.host_memory and not device.writable(array):
        raise memory.read_only(info)


def _native(device: Device, value: Any, info: TensorInfo, bound: Bound) -> Any:
    """Return an array or buffer of the device with the graph's dims and strides, or its bits."""
    spec, value = info.spec, memory.as_bits(value, info)
    try:
        base = value if device.owns(value) else wrap(device, value, info.name)
        dims, steps, dtype, _ = device.signature(base)
        if lies_as(base, spec):
            return base
    except BadParam:
        base = value  # a raw buffer, which only a view can state
    else:
        packed = bits.of_device(device, base, info)
        if packed is not None:
            return packed
        retyped = memory.check_type(info, dtype.name, bound.notes)
        if info.ragged_offset is not None:
            return base
        memory.check_room(info, dtype.itemsize + sum((d - 1) * s for d, s in zip(dims, steps, strict=True)))
        if (retyped or info.data_type.problem_type is None) and dtype.name != "uint8":
            base = device.as_bytes(base)
    try:
        return wrap(device, TensorView(spec, base), info.name)
    except BadParam as error:
        fix = "pass an array or a buffer of the handle's device"
        raise fail("PG-PACK-006", tensor=info.describe(), expected=error.expected, got=error.got, fix=fix) from error
