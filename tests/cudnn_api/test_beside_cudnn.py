"""The comparison with NVIDIA's library, where there is none: a library that takes notes, and portadnn on both sides."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from beside_cudnn import judging, programs
from beside_cudnn.real import Function
from beside_cudnn.sides import GUARD, Answer, Ours, Output, Real, Stop
from fake_cudnn import FakeLibrary, fake_cupy

from portadnn_backends.vendor_cudnn.connection import CupyConnection
from portadnn_backends.vendor_cudnn.library import Library

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_arguments_are_what_the_library_takes(name, monkeypatch):
    """Each argument converts to the type that C declares."""
    loaded, converted = FakeLibrary(), Counter()
    connection = CupyConnection(Library(loaded), fake_cupy())
    call = Function.__call__

    def checked(self, *values):
        before = len(loaded.notes)
        result = call(self, *values)
        for function, words in loaded.notes[before:]:
            for kind, word in zip(self.function.argtypes, words, strict=True):
                kind.from_param(word)
            converted[function] += 1
        return result

    monkeypatch.setattr(Function, "__call__", checked)
    monkeypatch.setattr("fake_cudnn.Function.__call__", noted)
    for seed in range(4):
        try:
            programs.PROGRAMS[name](Real(connection, seed))
        except (Stop, IndexError, ValueError):  # the sizes that it answers are none
            continue
    assert converted


def noted(self, *args):
    """Note a call; every result is 64, as a size or as an address."""
    library = self.library
    library.notes.append((self.name, args))
    for word in args:
        if getattr(word, "_length_", 0) == 1 and not word[0]:
            word[0] = 64
    return 0


def test_portadnn_agrees_with_itself():
    pair = programs.Pair("reference", itself=True)
    found = [pair.compare(number, 1)[1] for number in range(4 * len(programs.TURNS))]
    assert {verdict.kind for verdict in found} == {"equal"}


def test_most_programs_are_taken():
    pair = programs.Pair("reference", itself=True)
    numbers = [n for n in range(2 * len(programs.TURNS)) if not programs.name_of(n).startswith(programs.WRONG)]
    taken = Counter(pair.compare(number, 2)[0].status for number in numbers)
    assert taken["SUCCESS"] > 0.8 * taken.total()


def answer(values, **more):
    return Answer([("f", "SUCCESS")], {"y": Output(np.array(values, np.float32), 4)}, **more)


def test_verdicts():
    right, refused = answer([1, 2, np.nan]), Answer([("f", "BadParam")])
    assert judging.verdict(answer([1, 2, np.nan]), right).kind == "equal"
    assert judging.verdict(answer([1, 2.001, np.nan]), right).kind == "wrong"
    assert judging.verdict(answer([1, 2, 3]), right).kind == "wrong"
    assert judging.verdict(answer([1, 2, np.nan], written=["x"]), right).detail == "portadnn wrote x"
    assert judging.verdict(right, refused).kind == "ours accepts"
    assert judging.verdict(refused, right).kind == "cuDNN accepts"
    assert judging.verdict(refused, Answer([("f", "NotSupported")])).kind == "wrong"
    assert judging.verdict(answer([1, 2, 3], tags=["softmax of nothing"]), right).kind == "deliberate"
    assert judging.verdict(answer([1, 2, 3], tags=["softmax of nothing"], written=["x"]), right).kind == "wrong"


def test_writes_outside_of_memory_are_seen(reference):
    side = Ours(reference, 0)
    x, y = side.put(np.ones(5, np.float32), "x"), side.put(np.ones(5, np.float32), "y", output=True)
    y.part[...] = 7
    assert side.close().written == []
    x.part[0] = 2
    y.whole[GUARD + 20] += 1
    assert side.close().written == ["x", "around y"]


def test_deliberate_differences_are_documented():
    text = " ".join((ROOT / "docs/deviations.md").read_text(encoding="utf-8").split())
    told = [*(words for _, words in judging.DELIBERATE.values()), judging.REFUSES, judging.UNDEFINED]
    assert [words for words in told if words not in text] == []


def test_processes_share_the_programs():
    command = [sys.executable, "-m", "tests.beside_cudnn", "--self", "--backend", "reference", "--count", "12"]
    found = subprocess.run([*command, "--jobs", "2"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(r"^12 programs of \d+ calls in", found, re.MULTILINE)
