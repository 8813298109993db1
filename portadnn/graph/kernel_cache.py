"""Kernel caches and device properties as objects, which programs keep as text."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._io.outside import integer_of_64_bits, parse_json
from .._version import __version__
from ..errors import public, shown, written
from .api.handles import handle_of
from .engine import Config
from .enums import knob_type
from .operation_graph import OperationGraph
from .rules import fail

if TYPE_CHECKING:
    from ..handle import Handle

FORMAT, VERSION = "portadnn.kernel_cache", 1
PROPERTIES, PROPERTIES_VERSION = "portadnn.device_properties", 1


def read(text: Any, format: str, version: int, argument: str) -> Any:
    """Return JSON of a format.

    Parameters
    ----------
    text
        str, bytes, or a list of the bytes' numbers, as cudnn-frontend returns it.

    Raises
    ------
    InvalidValue
        It is something else, or of a later version (PG-FILE-001).
    """
    expected = f"JSON of the format {format}, version {version} at most"
    try:
        text = bytes(text) if isinstance(text, (list, tuple, bytearray, memoryview)) else text
        data = parse_json(text, argument, integer_of_64_bits)
    except Exception as error:  # no JSON; a user's list may raise anything
        raise fail("PG-FILE-001", argument=argument, expected=expected, got=written(str, error)) from None
    return checked(data, format, version, argument)


def checked(data: Any, format: str, version: int, argument: str) -> Any:
    """Return JSON that was parsed, if it is of a format; see :func:`read`."""
    expected = f"JSON of the format {format}, version {version} at most"
    if not isinstance(data, dict) or data.get("format") != format:
        raise fail("PG-FILE-001", argument=argument, expected=expected, got=f"{str(data)[:60]} ...")
    if not isinstance(data.get("version"), int) or data["version"] > version:
        got = f"version {str(data.get('version'))[:40]}"
        raise fail("PG-FILE-001", argument=argument, expected=expected, got=got, fix="install a newer portadnn")
    return data


class KernelCache:
    """Which plan was built for each graph on each kind of device; a graph that is known is built without heuristics.

    Compiled kernels themselves are always kept, on the disk.
    """

    def __init__(self) -> None:
        self._plans: dict[str, dict[str, Any]] = {}

    def known(self, graph: OperationGraph, handle: Handle) -> tuple[str, Mapping[knob_type, int]] | None:
        """Return the engine's name and the knobs of a graph's plan."""
        found = self._plans.get(self._key(graph, handle))
        if found is None:
            return None
        return found["engine"], {knob_type[name]: value for name, value in found["knobs"].items()}

    def add(self, graph: OperationGraph, handle: Handle, config: Config) -> None:
        """Remember a plan."""
        knobs = {kind.name: value for kind, value in config.knobs.items()}
        self._plans[self._key(graph, handle)] = {"engine": config.engine.name, "knobs": knobs}

    @staticmethod
    def _key(graph: OperationGraph, handle: Handle) -> str:
        return f"{graph.digest} on {handle.backend} {handle.info.name} by {__version__}"

    @public
    def serialize(self) -> str:
        """Return everything as JSON."""
        return json.dumps({"format": FORMAT, "version": VERSION, "plans": self._plans}, indent=1)

    @public
    def deserialize(self, text: str) -> None:
        """Take what ``serialize`` returned.

        Raises
        ------
        InvalidValue
            The cache is not empty, or it is something else (PG-FILE-001).
        """
        if self._plans:
            raise fail(
                "PG-FILE-001", argument="kernel_cache", expected="an empty cache", got=f"{len(self._plans)} plans"
            )
        plans = read(text, FORMAT, VERSION, "kernel_cache").get("plans")
        if not isinstance(plans, dict) or not all(map(_is_plan, plans.values())):
            expected = "an engine and knobs of each plan"
            raise fail("PG-FILE-001", argument="kernel_cache", expected=expected, got=shown(plans))
        self._plans = plans

    def __len__(self) -> int:
        return len(self._plans)


def _is_plan(found: Any) -> bool:
    """Tell whether a plan that was read has an engine and knobs."""
    knobs = found.get("knobs") if isinstance(found, dict) else None
    if not isinstance(knobs, dict) or not isinstance(found.get("engine"), str):
        return False
    return all(name in knob_type.__members__ and type(value) is int for name, value in knobs.items())


class DeviceProperties:
    """What is known of a device, to be kept as text."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)

    @public
    def serialize(self) -> str:
        """Return everything as JSON."""
        return json.dumps({"format": PROPERTIES, "version": PROPERTIES_VERSION, "device": self.values}, indent=1)

    def check(self, handle: Handle) -> None:
        """Demand that a handle's device is this one.

        Raises
        ------
        InvalidValue
            It is another (PG-PLAN-003).
        """
        wanted, got = ((v["backend"], v["name"], v["arch"]) for v in (self.values, properties_of(handle).values))
        if wanted != got:
            raise fail("PG-PLAN-003", argument="device_property", expected=f"a handle on {wanted}", got=got)


def properties_of(handle: Any) -> DeviceProperties:
    """Return a handle's device as properties."""
    values = dataclasses.asdict(handle_of(handle).info)
    return DeviceProperties({**values, "features": sorted(values["features"])})


def create_kernel_cache() -> KernelCache:
    """Return an empty cache, for ``pygraph(kernel_cache=...)``."""
    return KernelCache()


def create_device_properties(device: Any = 0) -> DeviceProperties:
    """Return the properties of a handle's device, of the default backend's device of a number, or from their text.

    Raises
    ------
    InvalidValue
        Text of another format (PG-FILE-001).
    """
    if isinstance(device, (str, bytes)):
        values = read(device, PROPERTIES, PROPERTIES_VERSION, "device").get("device")
        if not isinstance(values, dict) or not {"backend", "name", "arch"} <= values.keys():
            expected = "a device's backend, name and arch"
            raise fail("PG-FILE-001", argument="device", expected=expected, got=shown(values))
        return DeviceProperties(values)
    if isinstance(device, int):
        from ..handle import Handle

        with Handle("auto", device) as handle:
            return properties_of(handle)
    return properties_of(device)
