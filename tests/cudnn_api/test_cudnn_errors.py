"""Each error that the guide lists for a function of chapter 4 is raised, with the function's name and its status."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from chapter4 import PLACES
from cudnn_calls import PROBLEMS
from cudnn_world import World, world_of

import portadnn as dnn
from portadnn import cudnn
from portadnn_backends.base import Plan, Run
from portadnn_backends.reference.backend import DefinitionEngine, ReferenceBackend

INJECTED = "(injected)"


class Listed(NamedTuple):
    """A condition of the guide's tables."""

    section: str
    function: str
    status: str
    condition: str
    changes: tuple[str, ...]
    reason: str


def read() -> tuple[list[tuple[str, str]], list[Listed]]:
    """Return the sections and the conditions of guide_errors.txt."""
    sections: list[tuple[str, str]] = []
    found = []
    for line in Path(__file__).with_name("guide_errors.txt").read_text(encoding="utf-8").splitlines():
        if re.match(r"4\.\d+ ", line):
            sections.append(tuple(line.split()))
        elif line and not line.startswith("#"):
            status, text = line.split(" ", 1)
            condition, reason = text.rsplit(" - ", 1) if " - " in text else (text, "")
            changes: tuple[str, ...] = ()
            if not reason:
                condition, words = text.rsplit(": ", 1)
                changes = tuple(change.strip() for change in words.split(";"))
            found.append(Listed(*sections[-1], status, condition, changes, reason))
    return sections, found


SECTIONS, LISTED = read()
PROVOKED = [
    pytest.param(row, change, id=f"{row.function}-{row.status}-{change}") for row in LISTED for change in row.changes
]
EXECUTION = [row.function for row in LISTED if (row.status, row.reason) == ("EXECUTION_FAILED", INJECTED)]
ALLOCATION = [row.function for row in LISTED if (row.status, row.reason) == ("ALLOC_FAILED", INJECTED)]
SMALL = [row.function for row in LISTED if row.condition == "workSpaceSizeInBytes is too small"]
OTHERS = [("cudnnCreate", "NOT_INITIALIZED")]


def test_the_list_is_whole():
    assert [(f"4.{number}", name) for number, (name, _) in enumerate(PLACES, 1)] == SECTIONS
    assert all(bool(row.changes) != bool(row.reason) for row in LISTED)
    assert all(hasattr(cudnn, f"CUDNN_STATUS_{row.status}") for row in LISTED)
    assert {row.function for row in LISTED if row.status == "EXECUTION_FAILED"} == set(EXECUTION)
    injected = [(row.function, row.status) for row in LISTED if row.reason == INJECTED]
    tested = [(EXECUTION, "EXECUTION_FAILED"), (ALLOCATION, "ALLOC_FAILED"), (SMALL, "BAD_PARAM")]
    assert sorted(injected) == sorted([*OTHERS, *((name, status) for names, status in tested for name in names)])


def demand(name: str, status: str, world: World, arguments: list, options: dict | None = None) -> dnn.DnnError:
    """Call and demand an error; nothing may have been written before it was raised."""
    before = {word: bytes(world.handle.to_numpy(memory)) for word, memory in world.memory.items()}
    with pytest.raises(dnn.DnnError) as caught:
        getattr(cudnn, name)(*arguments, **(options or {}))
    error = caught.value
    assert error.call == name
    assert cudnn.cudnnGetErrorString(error.status) == f"CUDNN_STATUS_{status}", str(error)
    for word, memory in world.memory.items():
        assert bytes(world.handle.to_numpy(memory)) == before[word], f"{word} was written"
    return error


@pytest.mark.parametrize(("row", "change"), PROVOKED)
def test_listed_error(reference, row, change):
    world = world_of(reference, row.function, exact=False)
    changes = dict(word.split("=", 1) for word in change.split())
    error = demand(row.function, row.status, world, world.arguments(row.function, changes))
    assert error.argument is not None or error.message


@pytest.fixture
def failing(monkeypatch):
    """A handle of the reference whose engine needs a workspace, and fails when it runs."""

    def prepare(engine, problem, device):
        def run(arrays, scalars, workspace):
            raise dnn.ExecutionFailed("the device was unplugged")

        return Plan(problem, engine, 256, Run(run))

    monkeypatch.setattr(DefinitionEngine, "prepare", prepare)
    with dnn.Handle("reference") as handle:
        yield handle


@pytest.mark.parametrize("name", EXECUTION)
def test_a_failed_launch_is_reported(failing, monkeypatch, name):
    world = world_of(failing, name, exact=False)
    if name == "cudnnSetDropoutDescriptor":
        arguments = [world.word("d"), failing, 0.5, failing.empty_bytes(32), 32, 0]
    else:
        arguments = world.arguments(name)
    error = demand(name, "EXECUTION_FAILED", world, arguments)
    assert "unplugged" in str(error)


@pytest.mark.parametrize("name", ALLOCATION)
def test_missing_memory_for_tensors_and_workspaces_is_reported(failing, monkeypatch, name):
    def none(device, nbytes):
        raise dnn.AllocFailed("no memory")

    world = world_of(failing, name, exact=False)
    arguments = world.arguments(name)
    monkeypatch.setattr(type(failing.device), "workspace", none)
    monkeypatch.setattr(type(failing.device), "asarray", none)
    demand(name, "ALLOC_FAILED", world, arguments)


@pytest.mark.parametrize("name", SMALL)
def test_a_workspace_that_is_too_small_is_refused(failing, name):
    """Also where the buffer is larger than the size that is stated."""
    world = world_of(failing, name, exact=False)
    for buffer, size in ((failing.empty_bytes(255), 255), (failing.empty_bytes(4096), 255), (np.empty(64), 0)):
        world.found["small"] = buffer
        parameter = "workspace"
        arguments = world.arguments(name, {parameter: "small", "workSpaceSizeInBytes": str(size)})
        error = demand(name, "BAD_PARAM", world, arguments)
        assert error.argument == "workspace"
    claimed = world.arguments(name, {"workspace": "small", "workSpaceSizeInBytes": "4096"})
    assert demand(name, "BAD_PARAM", world, claimed).argument == "workSpace"


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_call_takes_a_handle_that_was_destroyed(reference, name):
    world = world_of(reference, name, exact=False)
    demand(name, "NOT_INITIALIZED", world, world.arguments(name, {"handle": "closed"}))


def test_a_backend_that_does_not_start_is_reported(reference, monkeypatch):
    monkeypatch.setattr(ReferenceBackend, "why_unavailable", lambda backend: "it is broken")
    error = demand("cudnnCreate", "NOT_INITIALIZED", World(reference), [], {"backend": "reference"})
    assert "it is broken" in str(error)
