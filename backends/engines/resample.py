"""The graph engine of resampling: one node, forward or backward, of every mode, type, layout and padding.

What portadnn's own pooling computes it does faster; this is for maxima with indices, interpolations, padding that
differs at both ends, and numbers that pooling does not know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from portadnn.enums import DataType
from portadnn.graph.data_types import data_type
from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.enums import resample_mode
from portadnn.graph.errors import GraphError
from portadnn.graph.knobs import Knobs
from portadnn.graph.layout import Dims, order_of, row_major, span
from portadnn.graph.operation_graph import OperationGraph, TensorInfo
from portadnn.graph.rules import fail

from ..base import Arg, Device, DeviceInfo, Launch, TensorArg, WorkspaceArg, roofline
from ..fusion.expressions import converted, rounded
from ..fusion.prepare import BY_SIZE
from ..fusion.values import STORAGE, register_of

Defines = dict[str, int | float | str]

KINDS = ("resample", "resample_backward")
_AXES = ("n", "c", "0", "1", "2")
_INDICES = ("n", "c", "i0", "i1", "i2")
_ITEMS = 256  # of a GPU's work-group
_GROUPS = 8  # for each of a CPU's cores
_CHUNK = 16  # channels that a CPU takes together
_SLOWER = 2.0  # than kernels that have a mode alone
_INTERPOLATIONS = {resample_mode.NEAREST: "MODE_NEAREST", resample_mode.BILINEAR: "MODE_BILINEAR"}
_MODES = {**_INTERPOLATIONS, resample_mode.MAXPOOL: "MODE_MAX"}


def _one_node(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    for operation in graph.operations:
        if operation.kind not in KINDS or len(graph.operations) > 1:
            one = f"one node, {' or '.join(KINDS)}"
            yield fail("PG-ENGINE-002", node=operation.label, argument="resample", expected=one)


def _memory(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    if any(_one_node(graph, info)):
        return
    for one in graph.infos:
        if one.by_value:
            place = one.describe()
            yield fail("PG-ENGINE-004", tensor=place, expected="a tensor in memory", got="a number passed by value")


def _doubles(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    if not any(_one_node(graph, info)) and not info.fp64 and _register(graph) == "D":
        (operation,) = graph.operations
        yield fail(
            "PG-ENGINE-003",
            node=operation.label,
            expected="tensors of FLOAT or shorter, and such a compute type",
            got="numbers of 64 bits",
            fix="compute_data_type=data_type.FLOAT and shorter tensors",
        )


def _register(graph: OperationGraph) -> str:
    """Return the register of sums: double where float does not hold all numbers."""
    (operation,) = graph.operations
    kinds = {graph.at(operation, port).data_type for port in ("X", "Y", "DX", "DY") if port in operation.uids}
    wide = any(register_of(kind) != "F" for kind in kinds) or operation.compute_type is data_type.DOUBLE
    return "D" if wide else "F"


class ResampleEngine(GraphEngine):
    """A work-item for each result; gradients are gathered from the windows that hold an element."""

    name = "resample"
    rules = (
        SupportRule("PG-ENGINE-002", "the graph is one node, resample or resample_backward", _one_node),
        SupportRule("PG-ENGINE-004", "tensors lie in memory", _memory),
        SupportRule("PG-ENGINE-003", "a device without float64 is not asked for it", _doubles),
    )

    def estimate(self, graph: OperationGraph, info: DeviceInfo) -> float:
        return _SLOWER * roofline(graph, info)

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        made = _Building(graph, device)
        return GraphPlan(graph, self, made.workspace_size, device.bind(made.launches), tuple(made.launches))


class _Building:
    """The launches of one node."""

    def __init__(self, graph: OperationGraph, device: Device) -> None:
        (self.operation,) = graph.operations
        self.graph, self.device = graph, device
        self.register = _register(graph)
        self.launches: list[Launch] = []
        self.workspace_size = 0
        op = self.operation
        forward = op.kind == "resample"
        self.out = self._at("Y", "DY")
        index = self._find("INDEX")
        if forward:
            self._forward(not self.out.virtual, None if index is None or index.virtual else index)
            return
        if op["mode"] is resample_mode.MAXPOOL and index is None:
            self.workspace_size = 4 * self.out.size
            self._forward(False, None)
        self._backward(index)

    def _find(self, port: str) -> TensorInfo | None:
        uid = self.operation.uids.get(port)
        return None if uid is None else self.graph.by_uid[uid]

    def _at(self, *ports: str) -> TensorInfo:
        return next(info for port in ports if (info := self._find(port)) is not None)

    def _forward(self, stores: bool, index: TensorInfo | None) -> None:
        """Append the launch of the forward direction; with neither output nor index these go to the workspace."""
        image = self._at("X")
        dims = self.out.dims
        defines = {**self._window(image), **self._type("X", image), "FORWARD": 1}
        args: list[Arg] = [self._argument(image)]
        if stores:
            defines |= self._type("Y", self.out)
            args.append(self._argument(self.out))
            lies = self.out.strides
        else:
            lies = row_major(dims)
        if index is not None or not stores:
            defines |= self._index(index)
            args.append(WorkspaceArg(0, DataType.INT32) if index is None else self._argument(index))
        self._launch("resample", defines, dims, lies, args)

    def _backward(self, index: TensorInfo | None) -> None:
        dx = self._at("DX")
        defines = {**self._window(dx), **self._type("X", dx), **self._type("Y", self.out)}
        args: list[Arg] = [self._argument(self.out), self._argument(dx)]
        if self.operation["mode"] is resample_mode.MAXPOOL:
            defines |= self._index(index)
            args.append(WorkspaceArg(0, DataType.INT32) if index is None else self._argument(index))
        self._launch("resample_backward", defines, dx.dims, dx.strides, args)

    def _argument(self, info: TensorInfo) -> TensorArg:
        return TensorArg(self.graph.places[info.uid], 0, BY_SIZE[info.data_type.itemsize])

    def _index(self, index: TensorInfo | None) -> Defines:
        """Return the type and strides of indices, which are packed INT32 in the workspace."""
        kind = data_type.INT32 if index is None else index.data_type
        strides = row_major(self.out.dims) if index is None else index.strides
        storage, register = STORAGE[kind], "F" if register_of(kind) == "F" else "I"
        return {
            "INDEX_S": f"{storage}_s",
            "READ_INDEX(e)": f"((int)of_{storage}(e))",
            "AS_INDEX(v)": f"as_{storage}({rounded(f'TO_{register}(v)', register, kind)})",
            **_strides("INDEX", self.out.dims, strides),
        }

    def _type(self, name: str, info: TensorInfo) -> Defines:
        storage, register = STORAGE[info.data_type], register_of(info.data_type)
        kept = rounded("(v)", self.register, info.data_type)
        return {
            f"{name}_S": f"{storage}_s",
            f"READ_{name}(e)": converted(f"of_{storage}(e)", register, self.register),
            f"AS_{name}(v)": f"as_{storage}({kept})",
            **_strides(name, info.dims, info.strides),
        }

    def _window(self, image: TensorInfo) -> Defines:
        """Return the sizes of image and output, and where windows lie."""
        op, lead = self.operation, 5 - len(image.dims)
        mode = op["mode"]
        sizes, outs = ((*(1,) * lead, *info.dims[2:]) for info in (image, self.out))
        found: Defines = {_MODES.get(mode, "MODE_MEAN"): 1}
        if mode is resample_mode.AVGPOOL_EXCLUDE_PADDING:
            found["EXCLUDE"] = 1
        given = zip(op["window"], op["stride"], op["pre_padding"], strict=True)
        rows = [*[(1, Fraction(1), Fraction(0))] * lead, *given]
        furthest = 0
        for axis, (window, stride, pad) in enumerate(rows):
            found |= {f"SIZE_{axis}": sizes[axis], f"OUT_{axis}": outs[axis]}
            if mode not in _INTERPOLATIONS:
                found |= {f"WINDOW_{axis}": window, f"STEP_{axis}": int(stride), f"PAD_{axis}": int(pad)}
                continue
            start = Fraction(window, 2) - pad
            den = 2 * math.lcm(stride.denominator, start.denominator)
            found |= {f"NUM_{axis}": int(stride * den), f"START_{axis}": int(start * den), f"DEN_{axis}": den}
            found[f"ENDS_{axis}"] = 1 if axis < lead else 2
            furthest = max(furthest, outs[axis] * int(stride * den) + abs(int(start * den)) + den)
        return {**found, "POSITION": "int" if furthest < 2**31 else "i64"}

    def _launch(self, name: str, defines: Defines, dims: Dims, strides: Dims, args: list[Arg]) -> None:
        """Append a launch over elements of these dims, in the order in which they lie."""
        info, cpu = self.device.info, self.device.info.schedule == "cpu"
        order = order_of(dims, strides)
        inner = next((axis for axis in reversed(order) if dims[axis] > 1), order[-1])
        outer = [axis for axis in order if axis != inner]
        rows = math.prod(dims[axis] for axis in outer)
        names = [_INDICES[axis if axis < 2 else axis + 5 - len(dims)] for axis in range(len(dims))]
        text, below = "", 1
        for axis in reversed(outer):
            text += f"const int {names[axis]} = (int)((row) / {below}u % {dims[axis]}u); "
            below *= dims[axis]
        text += "".join(f"const int {name} = 0; " for name in _INDICES if name not in names)
        wide = any(span(one.dims, one.strides) >= 2**31 for one in self.graph.infos)
        common: Defines = {
            "LANES": 1,
            "A": self.register,
            "A_S": "double" if self.register == "D" else "float",
            "UNRAVEL(row)": text,
            "INNER_AXIS": names[inner],
            "INNER": dims[inner],
            "ROWS": f"{rows}u" if not wide else f"(u64){rows}",
            "ITEMS": 1 if cpu else _ITEMS,
            "CHUNK": _CHUNK if cpu and names[inner] == "c" else 1,
        }
        kinds = {register_of(one.data_type) for one in self.graph.infos}
        if self.register == "D" or kinds & {"D", "L"}:
            common["FUSED_DOUBLES"] = 1
        if wide:
            common["WIDE_PLACES"] = 1
        if cpu:
            common["ROWS_EACH"] = 1
        groups = min(info.compute_units * _GROUPS, rows) if cpu else -(-rows * dims[inner] // _ITEMS)
        kernel = self.device.compile("shared/tensor/resample.cl", name, {**common, **defines})
        self.launches.append(Launch(kernel, (max(groups, 1),), (int(common["ITEMS"]),), tuple(args)))


def _strides(name: str, dims: Dims, strides: Dims) -> Defines:
    lead = 5 - len(dims)
    every = (*strides[:2], *(0,) * lead, *strides[2:])
    return {f"{name}_{axis}": step for axis, step in zip(_AXES, every, strict=True)}
