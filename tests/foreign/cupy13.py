"""Runs the cuDNN tests of CuPy 13, of Chainer 7.8 and of SigPy against ``portadnn.cupy_compat``.

    python tests/foreign/cupy13.py --cupy CHECKOUT --chainer CHECKOUT --sigpy CHECKOUT [--output results.json]

A checkout is a folder with the sources of that project (CuPy 13's tests, Chainer 7.8.1, SigPy 0.1.27); nothing is
fetched. Chainer needs the package six. Arguments after ``--`` go to pytest; ``-- -k "not use_chainerx_true and not
ideep_always and not ideep_true and not cuda_device_1"`` leaves out what Chainer's tests need besides. With a GPU the
tests run on CuPy 14's arrays. Without one they run on the stand-in of NumPy's, and what needs kernels of CUDA source is
counted apart. Prints the counts of each file, and the first line of each failure. The exit status is 1 where something
failed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import old_environment
import pytest

import portadnn
from portadnn.cupy_compat import install

CUPY = ("tests/cupyx_tests/test_cudnn.py", "tests/cupy_tests/cuda_tests/test_cudnn.py")
CHAINER = tuple(
    f"tests/chainer_tests/functions_tests/{name}.py"
    for name in (
        "activation_tests/test_clipped_relu",
        "activation_tests/test_log_softmax",
        "activation_tests/test_relu",
        "activation_tests/test_sigmoid",
        "activation_tests/test_softmax",
        "activation_tests/test_tanh",
        "array_tests/test_spatial_transformer_grid",
        "array_tests/test_spatial_transformer_sampler",
        "connection_tests/test_convolution_2d",
        "connection_tests/test_convolution_nd",
        "connection_tests/test_deconvolution_2d",
        "connection_tests/test_deconvolution_nd",
        "connection_tests/test_dilated_convolution_2d",
        "noise_tests/test_dropout",
        "normalization_tests/test_batch_normalization",
        "pooling_tests/test_average_pooling_2d",
        "pooling_tests/test_average_pooling_nd",
        "pooling_tests/test_max_pooling_2d",
        "pooling_tests/test_max_pooling_nd",
        "rnn_tests/test_function_n_step_gru",
        "rnn_tests/test_function_n_step_lstm",
        "rnn_tests/test_function_n_step_rnn",
    )
)
NO_KERNELS = "the stand-in for CuPy runs no kernels"  # what it raises
SIGPY = ("tests/test_conv.py",)


class Counts:
    """Chooses tests, counts outcomes by file, and keeps the first line of each failure.

    Parameters
    ----------
    every, first
        Of the tests that are asked for, one in `every` is run, from the one with number `first` on.
    seconds
        No test is begun after so many.
    """

    def __init__(self, every: int, first: int, seconds: float) -> None:
        self._every, self._first, self._seconds, self._end = every, first, seconds, 0.0
        self.chosen = 0
        self.outcomes: dict[str, Counter[str]] = {}
        self.failures: dict[str, str] = {}

    @pytest.hookimpl(trylast=True)  # after -k
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave one in so many of the tests that were asked for."""
        items[:] = items[self._first :: self._every]
        self.chosen, self._end = len(items), time.monotonic() + self._seconds

    def pytest_runtest_setup(self, item: Any) -> None:
        """End the run where the time is over."""
        if time.monotonic() > self._end:
            item.session.shouldstop = "the time is over"

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a test: its call, or a set-up that failed or skipped."""
        if report.when == "call" or report.outcome != "passed":
            self._count(report.nodeid, report.outcome, report)

    def pytest_collectreport(self, report: Any) -> None:
        """Count a file that could not be imported."""
        if report.failed:
            self._count(report.nodeid, "error", report)

    def _count(self, nodeid: str, outcome: str, report: Any) -> None:
        if outcome == "failed" and NO_KERNELS in str(report.longrepr):
            outcome = "needs CUDA kernels of its own"
        self.outcomes.setdefault(nodeid.partition("::")[0], Counter())[outcome] += 1
        if outcome in ("failed", "error"):
            lines = str(report.longrepr).splitlines()
            told = [line[1:].strip() for line in lines if line.startswith("E ")]
            if "(caused by)" in told:  # Chainer's, behind the parameters
                told = told[told.index("(caused by)") + 1 :]
            self.failures[nodeid] = (told or lines[-1:] or [""])[0]

    def shown(self) -> str:
        """Return the counts as text."""
        rows = [f"{name}: {dict(counts)}" for name, counts in sorted(self.outcomes.items())]
        total: Counter[str] = sum(self.outcomes.values(), Counter())
        failed = [f"  {name}: {line}" for name, line in self.failures.items()]
        return "\n".join([*failed, *rows, f"all: {dict(total)}, chosen: {self.chosen}"])


def _parameterize(*parameters: dict[str, Any]) -> Any:
    """Return CuPy's decorator of test classes and functions: one for each of some dicts of attributes."""

    def of_function(function: Any) -> Any:
        names = list(parameters[0])
        values = [tuple(each[name] for name in names) for each in parameters]
        return pytest.mark.parametrize(names, values)(function)

    def decorate(target: Any) -> Any:
        if not isinstance(target, type):
            return of_function(target)

        def attributes(self: Any, case: dict[str, Any]) -> None:
            vars(self).update(case)

        first = pytest.fixture(autouse=True)(attributes)
        ids = [", ".join(f"{k}={getattr(v, '__name__', v)}" for k, v in case.items()) for case in parameters]
        made = type(target.__name__, (target,), {"_a_case": first, "__module__": target.__module__})
        return pytest.mark.parametrize("case", parameters, ids=ids)(made)

    return decorate


def _product(names: Any) -> list[dict[str, Any]]:
    if isinstance(names, dict):
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*names.values())]
    return [dict(itertools.chain.from_iterable(d.items() for d in each)) for each in itertools.product(*names)]


def stand_in_testing(testing: Any) -> None:
    """Give the stand-in's ``cupy.testing`` what CuPy's tests of cuDNN use of it."""

    def shaped_arange(shape: tuple[int, ...], xp: Any = None, dtype: Any = np.float32) -> Any:
        return sys.modules["cupy"].arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype)

    kept = {"do_setup": lambda *_: None, "do_teardown": lambda *_: None}  # of the random numbers' state
    testing._random = type("_random", (), kept)
    vars(testing).update(parameterize=_parameterize, product=_product, shaped_arange=shaped_arange)


def run(folder: Path, files: tuple[str, ...], counts: Counts, pytest_arguments: list[str]) -> None:
    """Run files of a checkout in this process."""
    nothing = Path(tempfile.mkdtemp()) / "pytest.ini"
    nothing.write_text("[pytest]\nmarkers =\n    gpu\n    cudnn\n    slow\n    multi_gpu\n    ideep\n    chainerx\n")
    options = ["-q", "--noconftest", "-c", str(nothing), "--rootdir", str(folder), "--import-mode=importlib"]
    options += ["-p", "no:cacheprovider", "--no-header", "--no-summary", "--tb=short", "-W", "ignore"]
    sys.path.insert(0, str(folder))
    pytest.main([*options, *pytest_arguments, *(str(folder / name) for name in files)], plugins=[counts])
    sys.path.remove(str(folder))


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suites = {"cupy": CUPY, "chainer": CHAINER, "sigpy": SIGPY}
    for name in suites:
        parser.add_argument(f"--{name}", type=Path, help=f"checkout of {name}")
    parser.add_argument("--output", type=Path, help="file for the results, as JSON")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run one in N of the tests")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="begin with test K, 0 to N - 1")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no test of a suite after so many")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    asked = parser.parse_args()
    old_environment.lend()
    install(numpy=True)
    import cupy

    stand_in = getattr(cupy, "is_stand_in", False)
    if stand_in:
        stand_in_testing(cupy.testing)
    results: dict[str, Any] = {
        "every": asked.every,
        "portadnn": portadnn.__version__,
        "arrays": "numpy" if stand_in else cupy.__version__,
    }
    failed = False
    for name, files in suites.items():
        folder = getattr(asked, name)
        if folder is None:
            continue
        if name == "chainer":
            old_environment.restore(stand_in)
        counts = Counts(asked.every, asked.first, asked.seconds)
        run(folder.resolve(), files, counts, asked.pytest)
        print(f"\n{name} on {results['arrays']}\n{counts.shown()}")
        results[name] = {"chosen": counts.chosen, "outcomes": counts.outcomes, "failures": counts.failures}
        failed = failed or bool(counts.failures)
        if asked.output:
            asked.output.write_text(json.dumps(results, indent=1))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
