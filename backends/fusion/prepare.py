"""From a graph to compiled launches on a device: where everything lies, how launches are shaped, and running them."""

from __future__ import annotations

from portadnn.enums import DataType
from portadnn.graph.layout import Dims, row_major
from portadnn.graph.operation_graph import OperationGraph

from ..base import Arg, Device, DeviceInfo, Launch, ScalarArg, TensorArg, WorkspaceArg
from . import cpu
from .body import Written
from .expand.region import expand
from .geometry import Space, space_of
from .gpu import schedule as gpu
from .launches import Stage, cut
from .values import Value

ALIGNMENT = 256  # bytes, of what lies in the workspace
BY_SIZE = {1: DataType.UINT8, 2: DataType.HALF, 4: DataType.FLOAT, 8: DataType.DOUBLE}


def widths(info: DeviceInfo) -> tuple[int, ...]:
    """Return how many numbers an expression can stand for on a CPU, or a work-item compute on a GPU: best first."""
    if info.schedule == "gpu":
        return gpu.ITEMS
    most = min(info.simd_width, 16)
    return tuple(lanes for lanes in (16, 8, 4) if lanes <= most) or (4,)


def launches_of(graph: OperationGraph, info: DeviceInfo) -> list[Stage]:
    """Return a graph's launches in order."""

    def splits(dims: Dims, axes: tuple[int, ...]) -> bool:
        rule = gpu.splits if info.schedule == "gpu" else cpu.splits
        return rule(dims, axes, info.compute_units)

    return cut(expand(graph), splits)


class Prepared:
    """A graph's kernels, compiled for a device.

    Parameters
    ----------
    width
        One of :func:`widths`; None takes the best.

    Attributes
    ----------
    launches : tuple of Launch
    source : str
        Their text.
    workspace_size : int
    """

    def __init__(self, graph: OperationGraph, device: Device, width: int | None = None) -> None:
        self.device, self.graph = device, graph
        self.offsets: dict[int, int] = {}  # in the workspace, by the value's identity
        program, info = expand(graph), device.info
        stages = launches_of(graph, info)
        self.scratch = self._place(stages)
        self.workspace_size = self.scratch
        if width is None:
            width = widths(info)[0]
            if info.schedule == "cpu" and program.needs_doubles:
                width = max(width // 2, 4)
        spaces = [space_of(stage, width if info.schedule == "cpu" else gpu.NEIGHBOURS) for stage in stages]
        kernels = [
            kernel
            for number, (stage, space) in enumerate(zip(stages, spaces, strict=True))
            for kernel in self._write(stage, space, f"fused_{number}", width)
        ]
        defines = {"LANES": width if info.schedule == "cpu" else 1}
        if program.needs_doubles:
            defines["FUSED_DOUBLES"] = 1
        if any(space.wide for space in spaces):
            defines["WIDE_PLACES"] = 1
        self.source = "\n\n".join(kernel.text for kernel in kernels)
        self.launches = tuple(self._launch(kernel, defines) for kernel in kernels)

    def _place(self, stages: list[Stage]) -> int:
        """Give each result that only later launches need its place in the workspace; returns the size."""
        size = 0
        for stage in stages:
            for value in stage.stores:
                if _in_pack(value):
                    continue
                if value.info is None:
                    value.strides = row_major(value.dims)
                self.offsets[id(value)] = size
                span = 1 + sum((d - 1) * s for d, s in zip(value.dims, value.strides, strict=True))
                size += _rounded(span * value.memory_type.itemsize)
        return size

    def _write(self, stage: Stage, space: Space, name: str, width: int) -> list[Written]:
        info = self.device.info
        if info.schedule == "gpu":
            return gpu.write(stage, space, name, width, info)
        return cpu.write(stage, space, name, width, info.compute_units)

    def _launch(self, kernel: Written, defines: dict[str, int]) -> Launch:
        compiled = self.device.compile("shared/fusion/fused.h", kernel.name, defines, self.source)
        args: list[Arg] = []
        for value in kernel.memory:
            kind = BY_SIZE[value.memory_type.itemsize]
            if _in_pack(value):
                assert value.info is not None
                args.append(TensorArg(self.graph.places[value.info.uid], value.offset * kind.itemsize, kind))
            else:
                args.append(WorkspaceArg(self.offsets[id(value)], kind))
        for value in kernel.numbers:
            assert value.info is not None
            kind = DataType.FLOAT if value.register == "F" else DataType.DOUBLE
            args.append(ScalarArg(self.graph.places[value.info.uid], kind))
        place = self.scratch
        for register, count in kernel.scratch:
            kind = DataType.FLOAT if register == "F" else DataType.DOUBLE
            args.append(WorkspaceArg(place, kind))
            place += _rounded(count * kind.itemsize)
        self.workspace_size = max(self.workspace_size, place)
        return Launch(compiled, kernel.grid, kernel.block, tuple(args))


def uid_of(value: Value) -> int:
    """Return the uid of a value that is a tensor of the graph."""
    assert value.info is not None
    return value.info.uid


def _in_pack(value: Value) -> bool:
    return value.info is not None and not value.info.virtual


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
