"""The pytest plugin: hooks alone. It installs as ``portadnn_pytest``, and imports portadnn when a test asks for it.

pytest imports plugins in every project of an environment: a module of portadnn's own package would bring portadnn and
NumPy with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from portadnn.diff.pytest_fixture import DiffFixture

MARKER = "portadnn_diff_cases"
CASE = "portadnn_case"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command line's options."""
    group = parser.getgroup("portadnn diff")
    group.addoption(
        "--portadnn-diff-targets",
        default="",
        metavar="WORDS",
        help="targets that portadnn_diff.agree compares, such as opencl,cuda [default: every backend that works here]",
    )
    group.addoption("--portadnn-diff-seed", type=int, default=0, metavar="N", help="of generated cases and of data")
    group.addoption(
        "--portadnn-diff-count", type=int, default=None, metavar="N", help="generated cases, where a test says none"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    told = f"{MARKER}(op, count=None, seed=None, data=()): run the test for generated cases, as {CASE}"
    config.addinivalue_line("markers", told)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes a case for as many as its marker says."""
    if CASE in metafunc.fixturenames:
        from portadnn.diff.pytest_fixture import marked_cases

        metafunc.parametrize(CASE, marked_cases(metafunc.definition.get_closest_marker(MARKER), metafunc.config))


@pytest.fixture(scope="session")
def _portadnn_handles() -> Iterator[dict[str, Any]]:
    """Keep targets open, by their words."""
    opened: dict[str, Any] = {}
    yield opened
    for handle in opened.values():
        handle.close()


@pytest.fixture
def portadnn_diff(request: pytest.FixtureRequest, _portadnn_handles: dict[str, Any]) -> DiffFixture:
    """Compare functions with exact results, and backends with each other; see docs/diff.md."""
    from portadnn.diff.pytest_fixture import DiffFixture

    return DiffFixture(request.config, _portadnn_handles)
