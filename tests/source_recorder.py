"""A device that keeps sources in place of compiling them, and what engines ask it to compile."""

from __future__ import annotations

import math
import re
from collections import defaultdict

import pairwise
from small_problems import branches, defines, zero_one_more

import portadnn as dnn
from portadnn_backends import kernel_text
from portadnn_backends.base import Device, Kernel
from portadnn_backends.engines import kernel_engines
from portadnn_backends.programs import Program


class SourceRecorder(Device):
    """Stands for a device: keeps the sources that engines ask it to compile. It has no memory and runs nothing.

    Attributes
    ----------
    sources : dict
        For each source its file, the kernel's name, and :attr:`line`, what it was recorded for.
    engines : dict
        The engine that asked for each source.
    items : dict
        Most work-items of a group that a kernel is launched with, by its source and name.
    refused : list of str
        Problems that no engine took.
    """

    line = engine = ""

    def __init__(self, info):
        self.info = info
        self.refused: list[str] = []
        self.kernels: set[tuple[str, str]] = set()
        self.sources: dict[str, tuple[str, str, str]] = {}
        self.engines: dict[str, str] = {}
        self.items: dict[tuple[str, str], int] = {}

    def compile(self, file, name, defines, text=""):
        source = kernel_text.assemble(file, self.info.backend, defines, text)
        self.sources[source] = (file, name, self.line)
        self.engines[source] = self.engine
        return Kernel(name, Program(None, lambda: source, 0))

    def bind(self, launches):
        for launch in launches:
            items = math.prod(launch.block)
            assert 0 < items <= self.info.max_work_group
            assert launch.local_bytes <= self.info.dynamic_memory
            assert len(launch.grid) == len(launch.block) <= 3
            assert all(0 < g < 2**31 for g in launch.grid)
            kernel = launch.kernel.source, launch.kernel.name
            self.items[kernel] = max(items, self.items.get(kernel, 0))
        return lambda arrays, scalars, workspace: None

    owns = wrap = look = address = room = empty = asarray = to_numpy = workspace = workspace_size = None
    synchronize = time = stream = set_stream = close = None

    def record(self, lines):
        """Have every engine prepare problems that it takes."""
        for self.line in lines:
            problem = dnn.parse(self.line)
            takers = [e for e in kernel_engines() if isinstance(problem, e.problems)]
            takers = [e for e in takers if e.why_not(problem, self.info) is None]
            if not takers:
                self.refused.append(self.line)
            for engine in takers:
                self.engine = engine.name
                plan = engine.prepare(problem, self)
                assert plan.workspace_size == engine.workspace(problem, self.info), self.line
                self.kernels |= {(launch.kernel.name, launch.kernel.source) for launch in plan.launches}
        return self


def traits(source, file):
    """Return what a compiler meets in a source: its branches, and its types in its file."""
    return {branches(source), f"{file} {re.findall('#define (DTYPE_.*) 1', source)}"}


def differing(recorder, seen):
    """Yield the sources with traits that are not among those seen, and add them there."""
    for source, (file, name, line) in recorder.sources.items():
        if not traits(source, file) <= seen:
            seen |= traits(source, file)
            yield source, name, line


def few(recorder, folder=""):
    """Return as few sources as have every define of every kernel, with and without it; all of files in a `folder`."""
    found = list(differing(recorder, set()))
    every = defaultdict(set)
    for source, name, _ in found:
        every[name] |= defines(source)
    demands = []
    for source, name, _ in found:
        has = defines(source)
        demands.append({(name, one, one in has) for one in every[name]})
    chosen = pairwise.cover(demands)
    return [
        one
        for at, one in enumerate(found)
        if at in chosen or (folder and recorder.sources[one[0]][0].startswith(folder))
    ]


def new_runs(device, engines_for, lines):
    """Return the (line, engine) that have a kernel with branches that none before has.

    On CPUs types count, too: the width of vectors depends on them.
    """
    recorder, runs, seen = SourceRecorder(device.info), set(), set()
    types = device.info.schedule == "cpu"
    for recorder.line in lines:
        problem = dnn.parse(recorder.line)
        for engine in engines_for(problem):
            if engine.why_not(problem, device.info) is None:
                launches = engine.prepare(problem, recorder).launches
                found = {launch.kernel.name + branches(launch.kernel.source, types) for launch in launches}
                if not found <= seen:
                    seen |= found
                    runs.add((recorder.line, engine.name))
    return runs


def few_runs(device, engines_for, lines):
    """Return few (line, engine) that have every kernel with what its sources differ in, as often as the lines have it.

    That is each define with and without, each type, and each number of a define as 0, 1 or more: not each combination.
    Those with fewest work-items for what they bring come first.
    """
    recorder, runs, every = SourceRecorder(device.info), [], defaultdict(set)
    for recorder.line in lines:
        problem = dnn.parse(recorder.line)
        for engine in engines_for(problem):
            if engine.why_not(problem, device.info) is None:
                launches = engine.prepare(problem, recorder).launches
                items = sum(math.prod(launch.grid) * math.prod(launch.block) for launch in launches)
                kernels = {(launch.kernel.name, launch.kernel.source) for launch in launches}
                runs.append((recorder.line, engine.name, items, kernels))
    for *_, kernels in runs:
        for name, source in kernels:
            every[recorder.sources[source][0], name] |= defines(source)
    demands = []
    for *_, kernels in runs:
        wanted = set()
        for name, source in kernels:
            kernel, found = (recorder.sources[source][0], name), defines(source)
            facts = {(one, one in found) for one in every[kernel] if "DTYPE_" not in one or one in found}
            wanted |= {(kernel, fact) for fact in facts | zero_one_more(source)}
        demands.append(wanted)
    chosen = pairwise.cover(demands, [max(1, items) for _, _, items, _ in runs])
    return {runs[at][:2] for at in chosen}
