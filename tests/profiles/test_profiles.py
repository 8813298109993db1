"""Profiles find each mistake and nothing else, tell of it once for each place, and cost nothing without a handle."""

from __future__ import annotations

import contextlib
import gc
import pickle
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import profile_lenet
import profile_programs
import pytest
from profile_programs import HARMLESS, MISTAKES, Kit, Mistake

import portadnn as dnn
from portadnn.hooks import CALL_HOOKS
from portadnn.profiles.names import PROFILES
from portadnn.profiles.rules import rules

CASES = [(mistake, profile) for mistake in MISTAKES for profile in mistake.profiles if profile in PROFILES]
C_ONLY = {"S08", "S16", "S17"}  # about arguments that only the C names have
ELU = dnn.ActivationDescriptor("elu")
PROGRAMS = Path(profile_programs.__file__)


def opened(profile: str, mode: str = "warn") -> dnn.Handle:
    return dnn.Handle("reference", find_db="", profile=profile, mode=mode)


def violations(profile: str, program: object) -> list[dnn.Violation]:
    with opened(profile) as handle, warnings.catch_warnings():
        warnings.simplefilter("ignore", dnn.ProfileWarning)
        program(Kit(handle))  # type: ignore[operator]
        return handle.violations


@pytest.mark.parametrize(("mistake", "profile"), CASES, ids=str)
def test_a_mistake_breaks_its_rule_and_no_other(mistake: Mistake, profile: str) -> None:
    found = violations(profile, mistake.program)
    assert {violation.rule for violation in found} == {mistake.rule}, "\n".join(map(str, found))
    for violation in found:
        assert Path(violation.site[0]) == PROGRAMS
        assert "<" not in violation.message.replace("<string>", "")
        assert violation.fix


@pytest.mark.parametrize(("mistake", "profile"), CASES, ids=str)
def test_a_mistake_is_an_error_where_that_is_asked_for(mistake: Mistake, profile: str) -> None:
    known = rules().get(mistake.rule) or rules()["T01"]
    with opened(profile, "error") as handle, warnings.catch_warnings():
        warnings.simplefilter("ignore", dnn.ProfileWarning)
        if known.error_class is None:
            mistake.program(Kit(handle))
            return
        with pytest.raises(dnn.DnnError) as caught:
            mistake.program(Kit(handle))
        assert f"[{profile} {mistake.rule}]" in str(caught.value)


@pytest.mark.parametrize("program", HARMLESS)
@pytest.mark.parametrize("profile", [name for name in PROFILES if name.startswith("miopen")])
def test_harmless_programs_raise_nothing(program: object, profile: str) -> None:
    assert violations(profile, program) == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_clean_network_learns_and_raises_nothing(profile: str) -> None:
    with opened(profile, "error") as handle:
        losses = profile_lenet.train(handle, reduces=profile == "miopen-3")
        assert handle.violations == []
    assert losses[-1] < losses[0] / 2
    with dnn.Handle("reference", find_db="") as handle:
        assert profile_lenet.train(handle, reduces=False) == losses


def test_the_usual_lenet_breaks_what_it_breaks() -> None:
    """The example blends gradients, asks for no Find and takes the softmax's logarithm."""
    from portadnn.examples.lenet import LeNet

    rng = np.random.default_rng(0)
    with opened("miopen-1") as handle, warnings.catch_warnings():
        warnings.simplefilter("ignore", dnn.ProfileWarning)
        x, target = (handle.asarray(rng.normal(size=dims), "float32") for dims in ((5, 1, 8, 8), (5, 10, 1, 1)))
        LeNet(handle, 8, 8, seed=0).learn(x, target)
        assert {v.rule for v in handle.violations} >= {"S01", "V02", "V22"}


def test_each_place_is_told_once_with_its_line() -> None:
    with opened("miopen-1") as handle:
        kit = Kit(handle)
        with pytest.warns(dnn.ProfileWarning) as caught:
            for _ in range(3):
                dnn.activation_forward(handle, kit.x, ELU)
            line = _line() - 1
            dnn.activation_forward(handle, kit.x, ELU)
        assert [(w.filename, w.lineno) for w in caught] == [(__file__, line), (__file__, line + 2)]
        first = handle.violations[0]
        assert (first.rule, first.profile, first.call, first.site) == (
            "T01",
            "miopen-1",
            "activation_forward",
            (__file__, line),
        )
        assert str(caught[0].message) == str(first)
        assert "no clipped relu and no ELU" in first.message
        assert len(handle.violations) == 2


def _line() -> int:
    return sys._getframe(1).f_lineno


def test_violations_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with opened("miopen-1") as handle, caplog.at_level("INFO", "portadnn.profiles"), pytest.warns(dnn.ProfileWarning):
        dnn.activation_forward(handle, Kit(handle).x, ELU)
    assert [record.name for record in caplog.records] == ["portadnn.profiles"]
    assert f"{__file__}:" in caplog.text


def test_an_error_is_raised_every_time_and_before_anything_runs() -> None:
    with opened("miopen-1", "error") as handle:
        kit = Kit(handle)
        y = handle.zeros(kit.x.shape)
        for _ in range(2):
            with pytest.raises(dnn.NotSupported, match=r"activation_forward: \[miopen-1 T01\] MIOpen 1 does not"):
                dnn.activation_forward(handle, kit.x, ELU, y)
        assert not handle.to_numpy(y).any()
        with pytest.raises(dnn.InternalError, match=r"\[miopen-1 S01\].*Was find executed"):
            dnn.convolution_forward(handle, kit.x, kit.w, profile_programs.CONV, kit.y)
        assert [v.rule for v in handle.violations] == ["T01", "S01"]


def test_what_the_library_only_does_slowly_is_a_warning_in_both_modes() -> None:
    with opened("miopen-1", "error") as handle, pytest.warns(dnn.ProfileWarning, match="S10"):
        profile_programs.find_in_the_loop(Kit(handle))


@pytest.mark.parametrize("mode", ["warn", "error"])
def test_a_handle_without_a_profile_is_left_alone(mode: str) -> None:
    with opened("miopen-1", mode), dnn.Handle("reference", find_db="", profile="") as handle:
        profile_programs.no_find(Kit(handle))
        dnn.activation_forward(handle, Kit(handle).x, ELU)
        assert handle.violations == []


def test_two_handles_are_judged_by_their_own_profiles_and_modes() -> None:
    with opened("miopen-1") as lax, opened("miopen-1", "error") as strict:
        with pytest.warns(dnn.ProfileWarning):
            dnn.activation_forward(lax, Kit(lax).x, ELU)
        assert len(lax.violations) == 1
        assert strict.violations == []
        with pytest.raises(dnn.BadParam, match="K1"), pytest.warns(dnn.ProfileWarning):
            dnn.get_pooling_nd_forward_output_dim(profile_programs.MAX_POOL, (2, 3, 4, 4))  # has no handle: both judge
        assert len(strict.violations) == 1


def test_threads_report_to_their_handles_and_a_place_once() -> None:
    def work(handle: dnn.Handle) -> None:
        for _ in range(20):
            dnn.activation_forward(handle, handle.zeros((1, 1, 2, 2)), ELU)

    with opened("miopen-1") as one, opened("miopen-1") as two, warnings.catch_warnings():
        warnings.simplefilter("ignore", dnn.ProfileWarning)
        threads = [threading.Thread(target=work, args=(handle,)) for handle in (one, two) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(one.violations) == len(two.violations) == 1


@pytest.mark.parametrize("first", [True, False])
def test_a_recording_reads_results_without_breaking_a_rule(first: bool, tmp_path: Path) -> None:
    with contextlib.ExitStack() as open_now:
        if first:
            open_now.enter_context(dnn.trace(tmp_path / "calls.jsonl"))
        handle = open_now.enter_context(opened("miopen-1", "error"))
        if not first:
            open_now.enter_context(dnn.trace(tmp_path / "calls.jsonl"))
        profile_programs.clean(Kit(handle))
    assert "find_convolution_forward_algorithm_ex" in (tmp_path / "calls.jsonl").read_text(encoding="utf-8")


def test_results_can_be_copied_and_printed() -> None:
    with opened("miopen-1", "error") as handle:
        found = Kit(handle).find()
        again = pickle.loads(pickle.dumps(found))
        assert "status=<Status.SUCCESS: 0>" in repr(found)
        assert handle.violations == []
    assert again[0].status == 0
    assert again[0].algo == found[0].algo
    assert isinstance(found[0], dnn.ConvolutionFwdAlgoPerf)
    assert type(again) is list


def test_what_another_process_found_is_not_found_here(tmp_path: Path) -> None:
    file = tmp_path / "finds"
    with dnn.Handle("reference", find_db=file) as handle:
        algo = Kit(handle).find()[0].algo
    with dnn.Handle("reference", find_db=file, profile="miopen-1") as handle, pytest.warns(dnn.ProfileWarning):
        Kit(handle).run(algo)
        assert [v.rule for v in handle.violations] == ["S03"]
        assert "find database" in handle.violations[0].message


def test_closing_ends_the_watch() -> None:
    before = list(CALL_HOOKS)
    with opened("miopen-1") as handle:
        assert len(CALL_HOOKS) == len(before) + 1
    assert before == CALL_HOOKS
    handle.close()
    assert before == CALL_HOOKS
    assert handle.violations == []


def test_errors_of_the_program_leave_no_watch_behind() -> None:
    before = list(CALL_HOOKS)
    with pytest.raises(ZeroDivisionError), opened("miopen-1"):
        1 / 0  # noqa: B018
    assert before == CALL_HOOKS

    def forgetful() -> None:
        opened("miopen-1")

    forgetful()
    gc.collect()
    assert before == CALL_HOOKS
    with pytest.raises(dnn.BadParam):
        dnn.Handle("nonsense", profile="miopen-1")
    assert before == CALL_HOOKS


def test_nothing_is_watched_without_a_profile() -> None:
    before = list(CALL_HOOKS)
    with dnn.Handle("reference", find_db="", profile="") as handle:
        assert before == CALL_HOOKS
        assert handle.violations == []


BAD = (
    ({"profile": "miopen-7"}, r"Handle: profile: expected one of miopen-1.*, got 'miopen-7'"),
    ({"profile": 3}, "Handle: profile: expected one of miopen-1"),
    ({"profile": "miopen-1", "mode": "loud"}, "Handle: mode: expected one of warn, error, got 'loud'"),
    ({"profile": "", "mode": "loud"}, "Handle: mode: expected one of warn, error"),
)


@pytest.mark.parametrize(("options", "message"), BAD)
def test_unknown_names_are_refused_with_those_that_there_are(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dnn.BadParam, match=message):
        dnn.Handle("reference", **options)


def test_the_environment_chooses_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTADNN_PROFILE", "miopen-1")
    monkeypatch.setenv("PORTADNN_PROFILE_MODE", "error")
    with dnn.Handle("reference") as handle, pytest.raises(dnn.NotSupported, match="miopen-1 T01"):
        dnn.activation_forward(handle, Kit(handle).x, ELU)
    with dnn.Handle("reference", mode="warn") as handle, pytest.warns(dnn.ProfileWarning):
        dnn.activation_forward(handle, Kit(handle).x, ELU)
    with dnn.Handle("reference", profile="") as handle:
        dnn.activation_forward(handle, Kit(handle).x, ELU)
    monkeypatch.setenv("PORTADNN_PROFILE", "cudnn-1")
    with pytest.raises(dnn.BadParam, match="PORTADNN_PROFILE: expected one of"):
        dnn.Handle("reference")
    monkeypatch.setenv("PORTADNN_PROFILE", "miopen-1")
    monkeypatch.setenv("PORTADNN_PROFILE_MODE", "quiet")
    with pytest.raises(dnn.BadParam, match="PORTADNN_PROFILE_MODE: expected one of warn, error"):
        dnn.Handle("reference")


def test_importing_portadnn_reads_no_rules() -> None:
    program = (
        "import sys, portadnn; assert not {'portadnn.profiles.rules', 'portadnn.capability.tables'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_every_rule_is_broken_by_a_program() -> None:
    assert set(rules()) - C_ONLY == {mistake.rule for mistake in MISTAKES if mistake.rule in rules()}


def test_the_page_lists_the_rules_and_its_example_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")
    for rule in rules().values():
        names = ", ".join(f"`{name}`" for name in rule.profiles if name in PROFILES)
        assert f"| {rule.id} | {rule.title} | {rule.severity} | {names} |" in page
    assert set(re.findall(r"^\| ([A-Z]\d+) \|", page, re.MULTILINE)) == set(rules())
    for profile in PROFILES:
        assert f"| `{profile}` |" in page
    example = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    command = [sys.executable, "-c", example]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120).stdout
    warning, found = printed.splitlines()
    assert warning.startswith("[miopen-1 S02] convolution_forward: Find ran for convolution_forward x=f32:8x3x16x16")
    assert found == "[('S02', 'convolution_forward')]"
