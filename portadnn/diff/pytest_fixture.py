"""What the fixture ``portadnn_diff`` does; the plugin imports it when a test asks for it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ..enums import DataType
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..registry import default_backend_names, get_backend
from .cases import Case
from .functions import Function, examine_function
from .proofs import proving
from .reports.summary import command, wrong_judgements
from .results import RunReport
from .targets import Target
from .verdict import CaseResult, Verdict, examine

COUNT = 20  # generated cases


class DiffFixture:
    """Compares functions with exact results, and backends with each other."""

    def __init__(self, config: pytest.Config, handles: MutableMapping[str, Handle]) -> None:
        self._config, self._handles = config, handles

    @property
    def seed(self) -> int:
        """Of generated cases and of data, as the command line says."""
        return int(self._config.getoption("--portadnn-diff-seed"))

    def check(
        self,
        function: Function,
        case: str | Case,
        *,
        data: str | Iterable[str] = (),
        on: str = "reference",
        error_factor: float = 1.0,
        repeatable: bool = False,
    ) -> list[CaseResult]:
        """Fail the test where a function does not compute what a case's operation is.

        Parameters
        ----------
        function
            Takes tensors by name and returns outputs, or writes them in place; see
            :func:`portadnn.diff.functions.examine_function`.
        case
            A problem line, or a case line, or a case.
        data
            Kinds of data, each of which is tried; none takes the case's own.
        on
            Target whose arrays the function takes; by default NumPy's.
        error_factor, repeatable
            As for :func:`~portadnn.diff.functions.examine_function`.

        A case of bfloat16 is skipped where the function would get NumPy's arrays and ml_dtypes is not installed.
        """
        __tracebackhide__ = True
        handle = self._open(on)
        found = []
        spread = self._spread(case, data)
        why = missing_type(spread[0], handle) if spread else ""
        if why:
            pytest.skip(why)
        for one in spread:
            result = examine_function(function, one, handle, error_factor=error_factor, repeatable=repeatable)
            found.append(result)
        return self._judged(found)

    def agree(
        self, case: str | Case, *, targets: str | Sequence[str] = (), data: str | Iterable[str] = ()
    ) -> list[CaseResult]:
        """Fail the test where a target does not compute what is due.

        Parameters
        ----------
        case, data
            As for :meth:`check`; the case may be one that must fail.
        targets
            Their words; none takes the command line's, or every backend that works here. The test is skipped where
            one of them does not work on this machine, or none takes the case.
        """
        __tracebackhide__ = True
        handles = {word: self._open(word) for word in self._words(targets)}
        found = self._judged([examine(one, handles) for one in self._spread(case, data)])
        if all(result.verdict in (Verdict.UNSUPPORTED, Verdict.SKIPPED) for result in found):
            pytest.skip(found[0].reason)
        return found

    def cases(
        self, op: str | Iterable[str], *, count: int | None = None, seed: int | None = None, data: Iterable[str] = ()
    ) -> list[Case]:
        """Return generated cases of operations, such as ``"pooling_*"``, that are valid and due to succeed.

        Cases whose exact result proves nothing, such as zeros everywhere, are passed over.
        Without a count or a seed those of the command line are taken. The marker ``portadnn_diff_cases`` makes a test
        of each instead.
        """
        return _generated(self._config, op, count=count, seed=seed, data=data)

    def _words(self, targets: str | Sequence[str]) -> list[str]:
        given = targets or self._config.getoption("--portadnn-diff-targets")
        words = given.split(",") if isinstance(given, str) else list(given)
        working = (name for name in default_backend_names() if get_backend(name).why_unavailable() is None)
        return list(dict.fromkeys(filter(None, map(str.strip, words)))) or list(working)

    def _open(self, word: str) -> Handle:
        __tracebackhide__ = True
        if word not in self._handles:
            try:
                self._handles[word] = Target.parse(word).open()
            except NotSupported as error:
                if word in self._config.getoption("--portadnn-diff-targets").split(","):
                    raise  # asked for
                pytest.skip(str(error))
        return self._handles[word]

    def _spread(self, case: str | Case, data: str | Iterable[str]) -> list[Case]:
        """Return a case with each kind of data, and with the command line's seed where it has none."""
        one = Case.parse(case) if isinstance(case, str) else case
        kinds = ([data] if isinstance(data, str) else list(data)) or [one.data]
        return [replace(one, data=kind, seed=one.seed or self.seed) for kind in kinds]

    def _judged(self, results: list[CaseResult]) -> list[CaseResult]:
        __tracebackhide__ = True
        failed = [result for result in results if result.verdict in (Verdict.FAILED, Verdict.ERROR)]
        if failed:
            pytest.fail("\n".join(map(told, failed)))
        if results and all(result.verdict is Verdict.MISTRUSTED for result in results):
            pytest.fail("\n".join(f"{r.case}\n  proves nothing: {r.reason}" for r in results))
        return results


def missing_type(case: Case, handle: Handle) -> str:
    """Return why a function cannot be given a case's arrays: NumPy has no bfloat16 of its own; "" where it can."""
    if handle.device.owns(np.empty(0)) and any(spec.dtype is DataType.BFLOAT16 for spec in case.problem.tensors):
        try:
            _ = DataType.BFLOAT16.numpy
        except NotSupported as error:
            return str(error)
    return ""


def told(result: CaseResult) -> str:
    """Return what a test says of a case that failed."""
    lines = [f"{result.verdict.value} {result.case}"]
    lines += [f"  {judgement.target}: {judgement.reason}" for judgement in wrong_judgements(result)]
    if len(result.judgements) > 1:
        lines.append(f"  reproduce: {command(RunReport({}, results=[result]), result)}")
    return "\n".join(lines)


def marked_cases(marker: pytest.Mark | None, config: pytest.Config) -> list[Any]:
    """Return the parameters of a test that takes ``portadnn_case``."""
    if marker is None:
        raise pytest.UsageError("a test that takes portadnn_case needs @pytest.mark.portadnn_diff_cases(op)")
    try:
        found = _generated(config, *marker.args, **marker.kwargs)
    except (BadParam, TypeError) as error:
        raise pytest.UsageError(f"portadnn_diff_cases: {error}") from None
    return [pytest.param(case, id=f"{case.line.split()[0]}-{number}") for number, case in enumerate(found)]


def _generated(
    config: pytest.Config,
    op: str | Iterable[str],
    *,
    count: int | None = None,
    seed: int | None = None,
    data: str | Iterable[str] = (),
) -> list[Case]:
    from .generate import Mix, cases

    ops = [op] if isinstance(op, str) else list(op)
    wanted = count if count is not None else config.getoption("--portadnn-diff-count") or COUNT
    start = int(config.getoption("--portadnn-diff-seed")) if seed is None else seed
    mix = Mix(broken=False, algorithms=False, engines=False)
    kinds = [data] if isinstance(data, str) else list(data)
    if wanted < 0:
        raise BadParam(argument="count", expected="a number from 0 on", got=wanted)
    return list(itertools.islice(proving(cases(ops, seed=start, data=kinds, mix=mix)), wanted))


__all__ = ["DiffFixture", "marked_cases", "told"]
