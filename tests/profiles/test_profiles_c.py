"""Profiles find the mistakes of programs that are written with the C names."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import profile_cudnn_programs
import profile_miopen_programs
import pytest
from profile_programs import Kit, Mistake
from test_profiles import violations

import portadnn as dnn
from portadnn.profiles.names import PROFILES

MODULES = (profile_cudnn_programs, profile_miopen_programs)
CASES = [(m, p) for module in MODULES for m in module.MISTAKES for p in m.profiles if p in PROFILES]
HARMLESS = [(program, p) for module in MODULES for program, names in module.HARMLESS for p in names if p in PROFILES]


@pytest.mark.parametrize(("mistake", "profile"), CASES, ids=str)
def test_a_mistake_breaks_its_rule_and_no_other(mistake: Mistake, profile: str) -> None:
    found = violations(profile, mistake.program)
    assert {violation.rule for violation in found} == {mistake.rule}, "\n".join(map(str, found))
    for violation in found:
        assert Path(violation.site[0]).name.startswith("profile_")
        assert violation.call.startswith(("cudnn", "miopen"))


@pytest.mark.parametrize("network", ["lenet", "residual", "lstm"])
@pytest.mark.parametrize(
    ("library", "profile"),
    [("cudnn", "cudnn-5"), ("unified", "cudnn-5"), ("unified", "cudnn-9"), ("miopen", "miopen-3")],
)
def test_networks_raise_nothing_on_the_library_that_they_are_written_for(
    network: str, library: str, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTADNN_PROFILE", profile)
    program = importlib.import_module(f"portadnn.examples.three_ways.{network}_{library}")
    if (network, profile) == ("lenet", "miopen-3"):  # has a call of MIOpen 3.5 that fails in 3.6
        with pytest.warns(dnn.ProfileWarning) as caught:
            assert program.run("reference")
        assert ["miopenConvolutionBackwardBias" in str(w.message) for w in caught] == [True]
        return
    monkeypatch.setenv("PORTADNN_PROFILE_MODE", "error")
    assert program.run("reference")  # a warning would be an error, too


@pytest.mark.parametrize(("program", "profile"), HARMLESS)
def test_harmless_programs_raise_nothing(program: Callable[[Kit], None], profile: str) -> None:
    assert violations(profile, program) == []
