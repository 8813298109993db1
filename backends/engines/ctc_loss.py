"""CTC loss: one work-group walks through a sequence in each direction; gradients collect what both passed through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portadnn.enums import DataType
from portadnn.ops.ctc_loss import CTCGradMode, CTCLoss, LossNormalizationMode
from portadnn.problem import Problem

from ..base import (
    LAUNCH_SECONDS,
    Arg,
    ConstantArg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    TensorArg,
    WorkspaceArg,
    roofline,
)
from .layouts import place_arg, place_defines
from .tiles import storage_defines

Defines = dict[str, int | float | str]

_FILE = "shared/softmax/ctc_loss.cl"
_GROUPS = (32, 256)  # work-items of a GPU's work-group
_GRAIN = 1 << 12  # numbers of a CPU's work-group
_STEP_SECONDS = {"gpu": 1e-6, "cpu": 2e-8}  # a GPU's group for a step, a CPU's for a state of a step
_ANY = 1 << 62  # labels in rows of their own are not counted


def _power(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


@dataclass(frozen=True)
class _Layout:
    """Work-items and rows of groups, and where things begin in the workspace of `size` bytes.

    There is room for so many states in local memory; with 0 they stay in the workspace.
    """

    group: int
    logs_group: int  # of the sums over classes
    rows_group: int
    rows: int
    room: int
    row_logs: int
    paths: int
    lists: int
    reachable: int
    size: int


def _layout(problem: CTCLoss, info: DeviceInfo) -> _Layout:
    steps, batch, classes = problem.probs.dims
    states, item = problem.states, problem.dtype.accumulator.itemsize
    group = logs_group = rows_group = rows = 1
    if info.schedule == "gpu":
        least, most = _GROUPS
        most = min(most, info.max_work_group)
        group = min(max(_power(states), least), most)
        logs_group = min(max(_power(classes), least), most)
        rows_group = min(max(_power(max(classes, states)), least), most)
    else:
        rows = max(1, min(_GRAIN // max(classes, states), -(-steps * batch // (4 * info.compute_units))))
    room = _power(states)
    if (2 * room + group) * item > info.local_memory:
        room = 0
    gradient = problem.gradients is not None
    sizes = (
        steps * batch * item if problem.normalization is LossNormalizationMode.SOFTMAX else 0,
        (2 if gradient else 0 if room else 1) * batch * steps * states * item,
        batch * (states // 2) * 4 if gradient else 0,
        batch * 4,
    )
    firsts = [0]
    for size in sizes:
        firsts.append(-(-(firsts[-1] + size) // 256) * 256)
    return _Layout(group, logs_group, rows_group, rows, room, *firsts)


class CTC(Engine):
    """All modes, lengths and layouts. The same bits each time: nothing is added atomically."""

    name = "ctc_loss"
    wide = True
    problems = (CTCLoss,)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        """Estimate the time: steps come one after another."""
        assert isinstance(problem, CTCLoss)
        steps, batch, _ = problem.probs.dims
        rounds = -(-2 * batch // info.compute_units)
        chain = steps * rounds * (1 if info.schedule == "gpu" else problem.states) * _STEP_SECONDS[info.schedule]
        return chain + max(roofline(problem, info, launches=3), 3 * LAUNCH_SECONDS)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, CTCLoss)
        return _layout(problem, info).size if problem.probs.dims[1] else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, CTCLoss)
        launches = _launches(problem, device) if problem.probs.dims[1] else ()
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _defines(problem: CTCLoss) -> Defines:
    defines: Defines = {**storage_defines(problem.probs), **place_defines(problem)}
    if problem.normalization is LossNormalizationMode.SOFTMAX:
        defines["SOFTMAX"] = 1
    if len(problem.labels.dims) == 1:
        defines["CONCATENATED"] = 1
    if problem.gradients is not None:
        defines["GRADIENT"] = 1
    if problem.gradient_mode is CTCGradMode.SKIP_OOB_GRADIENTS:
        defines["SKIP_UNREACHABLE"] = 1
    return defines


def _vector_defines(problem: CTCLoss, info: DeviceInfo, layout: _Layout) -> Defines:
    """Return the vectors that a CPU's kernels work in, where classes lie side by side; none elsewhere."""
    logits = problem.normalization is LossNormalizationMode.SOFTMAX
    if info.schedule != "cpu" or info.backend != "opencl" or not (layout.room and logits):
        return {}
    rows = [one for one in (problem.probs, problem.gradients) if one is not None]
    if any(one.dtype is not DataType.FLOAT or one.strides[2] != 1 for one in rows):
        return {}
    return {"VW": max(4, min(16, info.simd_width))}


def _ints(*values: int) -> tuple[Arg, ...]:
    return tuple(ConstantArg(np.int32(value)) for value in values)


def _launches(problem: CTCLoss, device: Device) -> tuple[Launch, ...]:
    layout, real = _layout(problem, device.info), problem.dtype.accumulator
    steps, batch, classes = problem.probs.dims
    common = {**_defines(problem), **_vector_defines(problem, device.info, layout)}
    rows = -(-steps * batch // layout.rows)
    strides = {name: tuple(place_arg(problem, s) for s in getattr(problem, name).strides) for name in problem.names}
    labels = strides["labels"] if len(problem.labels.dims) == 2 else (place_arg(problem, 0), *strides["labels"])
    lengths = (*labels, *strides["label_lengths"], *strides["input_lengths"])
    row_logs = WorkspaceArg(layout.row_logs, real)
    scratch: tuple[Arg, ...] = (
        row_logs,
        WorkspaceArg(layout.paths, real),
        WorkspaceArg(layout.lists, DataType.INT32),
        WorkspaceArg(layout.reachable, DataType.INT32),
    )
    read = tuple(TensorArg(i) for i in range(4))

    def launch(name: str, kind: Defines, groups: int, group: int, args: tuple[Arg, ...]) -> Launch:
        kernel = device.compile(_FILE, name, {**common, **kind, "WG": group})
        return Launch(kernel, (groups,), (group,), args)

    launches = []
    if problem.normalization is LossNormalizationMode.SOFTMAX and rows:
        args = (read[0], row_logs, *_ints(steps, batch, classes), *strides["probs"])
        launches.append(launch("ctc_rows", {"ROW_LOGS": 1, "ROWS": layout.rows}, rows, layout.logs_group, args))
    sizes = _ints(steps, batch, classes, problem.states, problem.longest, problem.blank)
    labels_all = ConstantArg(np.int64(problem.labels.dims[0] if len(problem.labels.dims) == 1 else _ANY))
    places = (*lengths, *strides["costs"], *strides["probs"])
    args = (*read, TensorArg(4), *scratch, *sizes, labels_all, *places)
    kind: Defines = {"PATHS": 1, **({"LOCAL_STATES": layout.room} if layout.room else {})}
    directions = 1 if problem.gradients is None else 2
    launches.append(launch("ctc_paths", kind, directions * batch, layout.group, args))
    if problem.gradients is not None and rows:
        places = (*lengths, *strides["probs"], *strides["gradients"])
        args = (*read, TensorArg(5), *scratch, *_ints(steps, batch, classes, problem.states, problem.blank), *places)
        kind = {"GRADIENT_ROWS": 1, "ROWS": layout.rows}
        launches.append(launch("ctc_gradient", kind, rows, layout.rows_group, args))
    return tuple(launches)


ENGINES = (CTC(),)
