"""Fixtures: the backends under test, opened once per session."""

from __future__ import annotations

import gc
import os
import re
import sys
from pathlib import Path

import durations
import helper
import made_once
import pytest
import torch_differences
import where
from _pytest.doctest import DoctestModule

import portadnn as dnn
from portadnn.registry import get_backend

collect_ignore = ["pytorch/functions.py", "pytorch/places.py"]  # tables without doctests, which import torch

if os.environ.get("PORTADNN_HIP_STAND_IN"):  # a target, such as gfx1100
    from amd_isa import stand_in

    stand_in.install(os.environ["PORTADNN_HIP_STAND_IN"])

if "amd_isa" in os.environ.get("PORTADNN_TEST_BACKENDS", ""):  # a backend of the tests: docs/amd-executor.md
    sys.path.append(str(Path(__file__).parent / "amd_isa" / "entry_point"))


def pytest_report_header():
    lines = [f"{target.name}: {target.missing or 'tested'}" for target in helper.every_target()]
    return f"portadnn kernel backends: {'; '.join(lines) or 'none'}"


def pytest_addoption(parser):
    parser.addoption("--cpu-seconds", type=int, metavar="N", help="print the N tests and files that take most CPU time")


def pytest_configure(config):
    """Fail at once when a backend that must be there is not."""
    if config.getoption("--cpu-seconds"):
        config.pluginmanager.register(durations.Durations(config.getoption("--cpu-seconds")), "cpu_seconds")
    where.leave_optimiser_out()
    where.link_quickly()
    made_once.keep_commands()
    made_once.keep_invokers()
    for name in helper.backends_in("PORTADNN_REQUIRE_BACKENDS") or ():
        reason = get_backend(name).why_unavailable()
        if reason is not None:
            raise pytest.UsageError(f"PORTADNN_REQUIRE_BACKENDS: {name}: {reason}")


@pytest.hookimpl(tryfirst=True)
def pytest_ignore_collect(collection_path, config):
    """Leave out the files of `make amd` where `-m` leaves out their tests: making these takes seconds."""
    if collection_path.parent.name != "amd_isa" or not collection_path.name.startswith("test_"):
        return None
    if "not amd" not in config.getoption("markexpr"):
        return None
    marked = re.search(r"^pytestmark = \[?pytest\.mark\.amd\b", collection_path.read_text("utf-8"), re.MULTILINE)
    return True if marked else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for doctests in portadnn/ only: finding that tests have none takes seconds."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while tests are collected: hardly any is made."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give whole files to workers where ``loadgroup`` would give tests."""
    if config.getoption("dist") != "loadgroup":
        return None
    from by_file import ByFile

    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    """Take what was collected out of the garbage collector's sight: it walked through 600,000 objects every time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def handle(request):
    """The handle of the target that `over` chose."""
    return helper.open_handle(request.param)


@pytest.fixture(scope="session")
def reference():
    """A handle of the reference backend."""
    with dnn.Handle("reference") as handle:
        yield handle


@pytest.fixture
def env(request):
    """What the tests of MIOpen's names work with, on the reference unless a test is for every backend."""
    from miopen_env import Env

    backend = getattr(request, "param", "reference")
    reason = get_backend(backend).why_unavailable()
    if reason is not None:
        pytest.skip(f"backend {backend}: {reason}")
    with Env(backend) as made:
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Skip what PyTorch cannot say, and expect what it computes otherwise: see docs/torch-differences.md."""
    try:
        return (yield)
    except (AssertionError, AttributeError, TypeError, pytest.fail.Exception):
        reason = torch_differences.known(pyfuncitem)
        if reason is not None:
            pytest.xfail(reason)
        raise
    except dnn.NotSupported as error:
        if any(text in str(error) for text in ("torch does not take it", "no engine of torch takes it")):
            pytest.skip(str(error))
        raise
