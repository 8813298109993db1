"""Divisive normalisation: every output gathers its window, the gradient in two launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portadnn.enums import DataType, TensorFormat
from portadnn.ops.divisive_norm import DivisiveNormalizationBackward, DivisiveNormalizationForward
from portadnn.problem import Problem, TensorSpec

from ...base import (
    ConstantArg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    Run,
    TensorArg,
    WorkspaceArg,
    roofline,
)
from ...parameters import Parameter, bind, declare, numbers, tensor
from ..layouts import Axis
from ..tiles import storage_defines, vector_lanes, vector_width
from .lrn import POWERS, norm_arguments

_FILE, _CPU_FILE = "shared/lrn/divisive_norm.cl", "opencl/norm/divisive_norm_cpu.cl"
_GROUP = {"gpu": 128, "cpu": 64}
_ROWS = {"gpu": 4, "cpu": 2}  # outputs of a work-item
_BLOCK = 256  # columns that a CPU treats at a time
_CHUNK = 1 << 13  # outputs of a CPU work-group

Defines = dict[str, int | float | str]
_Divisive = DivisiveNormalizationForward | DivisiveNormalizationBackward


class DivisiveNorm(Engine):
    """Both directions, with and without means, in all layouts."""

    name = "divisive_norm"
    problems = (DivisiveNormalizationForward, DivisiveNormalizationBackward)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        return roofline(problem, info, 0.3)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        """Factors, so that y may be x; or two numbers for each element on the way back."""
        size = _part_bytes(problem)
        return size if isinstance(problem, DivisiveNormalizationForward) else 2 * size

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, (DivisiveNormalizationForward, DivisiveNormalizationBackward))
        size = self.workspace(problem, device.info)
        if problem.x.size == 0:
            return Plan(problem, self, size, device.bind(()))
        build = _Builder(problem, device)
        if isinstance(problem, DivisiveNormalizationBackward):
            launches = (build.launch("GRADIENT"), build.launch("GATHER"))
            return Plan(problem, self, size, device.bind(launches), launches)
        direct, staged = (build.launch("FORWARD"),), (build.launch("FACTORS"), build.launch("SCALE"))
        run_direct, run_staged = device.bind(direct), device.bind(staged)
        x, y = problem.index("x"), problem.index("y")

        def run(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
            in_place = device.address(arrays[x]) == device.address(arrays[y])
            (run_staged if in_place else run_direct)(arrays, scalars, workspace)

        return Plan(problem, self, size, Run(run, composite=True), (*direct, *staged))


def _part_bytes(problem: Problem) -> int:
    return -(-problem.tensors[0].size * problem.dtype.accumulator.itemsize // 256) * 256


_SUMS, _SCALE, _GATHER = "divisive_norm", "divisive_norm_scale", "divisive_norm_gather"
_KERNELS = {  # the kernel of each mode, and its tensors and workspaces in the order of its parameters
    "FORWARD": (_SUMS, "x means y"),
    "FACTORS": (_SUMS, "x means factors"),
    "SCALE": (_SCALE, "x factors y"),
    "GRADIENT": (_SUMS, "x means dy g q dmeans"),
    "GATHER": (_GATHER, "x means g q dx"),
}
_WORKSPACES = {"factors": 0, "g": 0, "q": 1}
_POWERS = tuple(POWERS.values())
_UNUSED = {  # what would only make for more programs
    "SCALE": ("WINDOW", "BEHIND", "AHEAD", "BEHIND_D", "AHEAD_D", "MEANS", "DMEANS", *_POWERS),
    "GATHER": ("DMEANS", *_POWERS),
}


class _Builder:
    """Makes the launches of one problem."""

    def __init__(self, problem: _Divisive, device: Device) -> None:
        self.problem, self.device = problem, device
        info, specs = device.info, problem.tensors
        dims = problem.x.dims
        self.last = dims[1] > 1 and all(spec.strides[1] == 1 for spec in specs)
        self.lines = info.schedule == "cpu" and not self.last
        window = problem.window
        self.defines, self.norm = norm_arguments(problem, window)
        self.defines.update(storage_defines(problem.x), WINDOW=problem.lrn_n, BEHIND=window.before, AHEAD=window.after)
        solid = len(dims) == 5
        self.defines.update(BEHIND_D=window.before * solid, AHEAD_D=window.after * solid)
        self.defines.update(MEANS=int(problem.means is not None), DMEANS=int("dmeans" in problem.names))
        depth, height, width = dims[2] if solid else 1, *dims[-2:]
        if self.lines:
            self.defines.update(VW=vector_lanes(problem.dtype, info), BLOCK=_BLOCK)
            if all(spec.strides[-1] == 1 or width == 1 for spec in specs):
                self.defines["UNIT"] = 1
            rows = problem.x.size // width
            chunk = max(1, min(_CHUNK // width, -(-rows // info.compute_units)))
            sizes = {"rows": rows, "chunk": chunk, "units": dims[1]}
            self.grid, self.block = -(-rows // chunk), 1
        else:
            lanes = self._lanes(info) if self.last else 1
            rows = _ROWS[info.schedule]
            self.defines.update(VW=lanes, TP=rows, GROUP=_GROUP[info.schedule])
            if self.last:
                self.defines["CHANNELS_LAST"] = 1
            if lanes > 1 and info.schedule == "gpu":
                self.defines["VECTOR_ALIGNED"] = 1
            tiles, units = -(-height // rows), dims[1] // lanes
            items = dims[0] * units * depth * tiles * width
            sizes = {"items": items, "tiles": tiles, "units": units}
            self.grid, self.block = -(-items // _GROUP[info.schedule]), _GROUP[info.schedule]
        self.sizes = {**sizes, "depth": depth, "height": height, "width": width}

    def _lanes(self, info: DeviceInfo) -> int:
        specs = self.problem.tensors
        fast = [Axis(specs[0].dims[1], tuple(spec.strides[1] for spec in specs))]
        slow = [Axis(spec.dims[a], (spec.strides[a],)) for spec in specs for a in range(len(spec.dims)) if a != 1]
        most = vector_lanes(specs[0].dtype, info)
        return vector_width(fast, slow, specs, most, aligned=info.schedule == "gpu")

    def launch(self, mode: str) -> Launch:
        """Return the launch of one of the modes of lrn/divisive_norm.cl."""
        problem = self.problem
        real = problem.dtype.accumulator
        name, words = _KERNELS[mode]
        given: list[Parameter] = []
        sizes = dict(self.sizes)
        for word in words.split():
            restrict = mode != "SCALE" or word == "factors"  # y may be x
            const = "" if word in ("y", "dx", "dmeans") or (word in _WORKSPACES and name == _SUMS) else "const "
            if word in _WORKSPACES:
                arg = WorkspaceArg(_WORKSPACES[word] * _part_bytes(problem), real)
                given.append(tensor(f"{const}real", word, arg, restrict))
                format = TensorFormat.NHWC if self.last else TensorFormat.NCHW
                sizes.update(_strides("scratch", TensorSpec.packed(DataType.FLOAT, problem.x.dims, format)))
            elif word in problem.names:
                given.append(tensor(f"{const}T", word, TensorArg(problem.index(word)), restrict))
                sizes.update(_strides(word, getattr(problem, word)))
        given += self.norm
        given += numbers("u32", sizes, (ConstantArg(np.uint32(value)) for value in sizes.values()))
        unused = _UNUSED.get(mode, ())
        defines: Defines = {key: value for key, value in self.defines.items() if key not in unused}
        defines.update({"SUMS": 1, "MODE": mode} if name == _SUMS else {mode: 1}, **declare(given))
        kernel = self.device.compile(_CPU_FILE if self.lines else _FILE, name, defines)
        return Launch(kernel, (self.grid,), (self.block,), bind(given))


def _strides(name: str, spec: TensorSpec) -> dict[str, int]:
    """Return a tensor's strides as the kernels name them; a 2-D image has one plane."""
    n, c, *spatial = spec.strides
    depth, height, width = spatial if len(spatial) == 3 else (0, *spatial)
    return dict(zip((f"{name}_{letter}" for letter in "ncdhw"), (n, c, depth, height, width), strict=True))


ENGINES = (DivisiveNorm(),)
