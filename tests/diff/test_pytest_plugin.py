"""The pytest plugin, in projects of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import portadnn.diff.generate
import portadnn.diff.pytest_fixture  # noqa: F401  # what runs import anew, they forget, and import again
from portadnn.registry import get_backend

pytest_plugins = ["pytester"]

INSTALLED = any(point.name == "portadnn_diff" for point in entry_points(group="pytest11"))
OTHERS = ("cacheprovider", "hypothesispytest", "xdist", "timeout", "benchmark")  # benchmark warns beside xdist
ALONE = [word for name in OTHERS for word in ("-p", f"no:{name}")]
PLUGIN = () if INSTALLED else ("-p", "portadnn.diff.pytest_plugin")
OLD = "the environment is older than the plugin"

HONEST = """
import numpy as np

CONV = "convolution_forward x=f32:2x3x5x5 w=f32:4x3x3x3 padding=1,1"
RELU = "activation_forward x=f32:2x3x5x7 mode=relu nan_propagation=propagate_nan"
GAPS = "activation_forward x=f32:2x3x5x7 y=f32:2x3x5x7/150,48,9,1 mode=relu"

def relu(x):
    return np.where(x < 0, x.dtype.type(0), x)  # NaN stays
"""


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(text, *options):
        pytester.makepyfile(HONEST + text)
        return pytester.runpytest_inprocess(*PLUGIN, *ALONE, *options)

    return run


def test_a_correct_function_passes(project):
    found = project("""
def test_returned(portadnn_diff):
    assert len(portadnn_diff.check(relu, RELU, data=("exact", "random", "nan", "inf"))) == 4

def test_in_place(portadnn_diff):
    def kernel(x, y):
        np.maximum(x, 0, out=y)
    portadnn_diff.check(kernel, GAPS)

def test_keywords_and_numbers(portadnn_diff):
    def kernel(**given):
        assert sorted(given) == ["alpha", "beta", "x", "y"]
        return {"y": given["alpha"] * relu(given["x"]) + given["beta"] * given["y"]}
    portadnn_diff.check(kernel, RELU + " alpha=0.5 beta=0.25")

def test_a_ufunc(portadnn_diff):
    portadnn_diff.check(np.tanh, "activation_forward x=f64:2x3x5x7 mode=tanh")

def test_two_outputs(portadnn_diff):
    def backward(x, dy, scale, saved_mean, saved_inv_variance):
        n = x.size / x.shape[1]
        axes = (0, 2, 3)
        centred = (x - saved_mean) * saved_inv_variance
        dbias = dy.sum(axes, keepdims=True)
        dscale = (dy * centred).sum(axes, keepdims=True)
        return scale * saved_inv_variance * (dy - dbias / n - centred * dscale / n), dscale, dbias
    saved = " ".join(f"{name}=f64:1x3x1x1" for name in ("saved_mean", "saved_inv_variance"))
    line = "batch_normalization_backward x=f64:2x3x5x7 mode=spatial " + saved
    portadnn_diff.check(backward, line)
""")
    found.assert_outcomes(passed=5)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("relu(x) * 1.5", "y: * of 210 elements are wrong by tolerance, first at (0, 0, 0, 3)*"),
        ("relu(x)[:, :, ::-1]", "FAILED activation_forward x=f32:2x3x5x7 mode=relu*"),
        ("np.nan_to_num(relu(x))", "*wrong by NaN*got 0.0, expected nan*"),
        ("relu(x).astype('f8')", "*BadParam: y: expected float32 of shape (2, 3, 5, 7), got float64 of shape*"),
        ("relu(x)[:1]", "*y: expected float32 of shape (2, 3, 5, 7), got float32 of shape (1, 3, 5, 7)*"),
        ("None", "*function: expected y, returned or taken as a parameter, got neither*"),
    ],
)
def test_a_wrong_function_fails_with_what_is_wrong(project, body, told):
    data = "nan" if "nan_to" in body else "random"
    found = project(f"""
def test_wrong(portadnn_diff):
    portadnn_diff.check(lambda x: {body}, RELU, data="{data}")
""")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines([f"*{told}"])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("np.maximum(x, 0, out=y); x[0, 0, 0, 0] += 1", "*input written: x: an input was changed*"),
        ("np.maximum(x, 0, out=y); whole(y)[...] = 0; np.maximum(x, 0, out=y)", "*outside written: y: bytes before*"),
        ("np.maximum(x, 0, out=y); behind(y)[...] = 0", "*outside written: y: bytes before, behind or between*"),
    ],
)
def test_a_function_that_writes_elsewhere_fails(project, body, told):
    found = project(f"""
from numpy.lib.stride_tricks import as_strided

def whole(y):
    return as_strided(y, (2 * 150,), (4,))  # gaps as well

def behind(y):
    return as_strided(y, (300 + 8,), (4,))[300:]

def test_wrong(portadnn_diff):
    def kernel(x, y):
        {body}
    portadnn_diff.check(kernel, GAPS)
""")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines([told])


@pytest.mark.skipif(get_backend("opencl").why_unavailable() is not None, reason="no OpenCL device")
def test_functions_on_a_device(project):
    found = project("""
import pyopencl.array

def test_returned(portadnn_diff):
    zero = np.float32(0)
    portadnn_diff.check(lambda x: pyopencl.array.maximum(x, zero), RELU, on="opencl")

def test_in_place(portadnn_diff):
    def kernel(handle, x, y):
        y.set(relu(x.get(handle.get_stream())), handle.get_stream())
        x += 1
    portadnn_diff.check(kernel, RELU, on="opencl")
""")
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(["*kernel: input written: x: an input was changed*"])


def test_a_function_that_does_not_repeat_fails(project):
    found = project("""
def test_it(portadnn_diff):
    runs = []
    def kernel(x):
        runs.append(1)
        return relu(x) * np.float32(1 + len(runs) * 2.0**-23)
    portadnn_diff.check(kernel, RELU)
    portadnn_diff.check(kernel, RELU, repeatable=True)
""")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*not repeatable: y: two runs of kernel differ*"])


def test_what_proves_nothing_fails(project):
    found = project("""
def test_it(portadnn_diff):
    portadnn_diff.check(lambda x: 0 * x, RELU + " alpha=0")
""")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*proves nothing: y: all zeros*"])


def test_exceptions_of_the_function_are_its_own(project):
    found = project("""
def test_it(portadnn_diff):
    def kernel(x):
        raise ZeroDivisionError("mine")
    portadnn_diff.check(kernel, RELU)
""")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["E*ZeroDivisionError: mine"])


def test_backends_agree_or_are_named(project):
    found = project(
        """
import portadnn.diff.verdict as verdict

def test_agree(portadnn_diff):
    (result,) = portadnn_diff.agree(CONV)
    assert [j.target for j in result.judgements] == ["reference"]
    portadnn_diff.agree("activation_forward x=f32:2x3 y=f32:2x4 mode=relu ; expect=BAD_PARAM", targets="reference")

def test_disagree(portadnn_diff, monkeypatch):
    honest = verdict.run
    def lying(handle, case, *args, **more):
        ran = honest(handle, case, *args, **more)
        ran.outputs["y"][..., -1] = 0
        return ran
    monkeypatch.setattr(verdict, "run", lying)
    portadnn_diff.agree(CONV, targets=["reference"], data="exact")
""",
        "--portadnn-diff-targets",
        "reference",
    )
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(["*FAILED convolution_forward *; data=exact*", "*reference: y: 38 of 200 elements*"])


def test_a_missing_backend_skips_but_not_where_it_was_asked_for(project):
    text = """
import pytest
from portadnn.diff import Target, pytest_fixture
from portadnn.errors import NotSupported

@pytest.fixture(autouse=True)
def no_cuda(monkeypatch):
    def parse(word):
        raise NotSupported("backend cuda is not available: no GPU")
    monkeypatch.setattr(Target, "parse", parse)

def test_it(portadnn_diff):
    portadnn_diff.agree(CONV, targets=["cuda"])
"""
    project(text).assert_outcomes(skipped=1)
    project(text, "--portadnn-diff-targets=cuda").assert_outcomes(failed=1)


def test_generated_cases(project):
    found = project(
        """
import pytest

def test_loop(portadnn_diff):
    cases = portadnn_diff.cases("activation_forward", count=3, data=("exact", "random"))
    assert [c.line.split()[0] for c in cases] == ["activation_forward"] * 3
    assert {c.data for c in cases} <= {"exact", "random"}
    assert cases == portadnn_diff.cases("activation_forward", count=3, data=("exact", "random"), seed=5)
    assert cases != portadnn_diff.cases("activation_forward", count=3, data=("exact", "random"), seed=6)

@pytest.mark.portadnn_diff_cases("op_tensor", data="exact")
def test_each(portadnn_diff, portadnn_case):
    assert portadnn_case.problem.op == "op_tensor"
    portadnn_diff.agree(portadnn_case, targets=["reference"])
""",
        "-v",
        "--strict-markers",
        "--portadnn-diff-seed=5",
        "--portadnn-diff-count=4",
    )
    found.assert_outcomes(passed=5)
    found.stdout.fnmatch_lines(["*test_each?op_tensor-0? PASSED*", "*test_each?op_tensor-3? PASSED*"])


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        ("", "*portadnn_case needs @pytest.mark.portadnn_diff_cases(op)*"),
        ("@pytest.mark.portadnn_diff_cases('no_op')", "*portadnn_diff_cases: *'no_op'*"),
        ("@pytest.mark.portadnn_diff_cases('op_tensor', number=3)", "*portadnn_diff_cases: *number*"),
    ],
)
def test_a_wrong_marker_is_told(project, marker, told):
    found = project(f"""
import pytest
{marker}
def test_it(portadnn_case):
    pass
""")
    assert found.ret != 0
    found.stdout.fnmatch_lines([told])


def test_bad_calls_are_told(project):
    found = project("""
import pytest
from portadnn.errors import BadParam

@pytest.mark.parametrize(("function", "line", "told"), [
    (relu, "relu x=f32:2", "relu"),
    (relu, RELU + " ; expect=BAD_PARAM", "pytest.raises"),
    (lambda image: image, RELU, "parameters of x, y, alpha, beta.*image"),
    (lambda x: (x, x), RELU, "outputs y.*2 of them"),
])
def test_it(portadnn_diff, function, line, told):
    with pytest.raises(BadParam, match=told):
        portadnn_diff.check(function, line)
""")
    found.assert_outcomes(passed=4)


@pytest.mark.skipif(not INSTALLED, reason=OLD)
def test_the_plugin_costs_nothing_until_it_is_used(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n    assert not {'portadnn', 'numpy'} & set(sys.modules)\n"
    )
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert "1 passed" in found.stdout, found.stdout + found.stderr


@pytest.mark.skipif(not INSTALLED, reason=OLD)
def test_projects_can_do_without_it(pytester):
    pytester.makepyfile("def test_it():\n    pass\n\ndef test_other(portadnn_diff):\n    pass\n")
    found = pytester.runpytest_inprocess("-p", "no:portadnn_diff")
    found.assert_outcomes(passed=1, errors=1)
    found.stdout.fnmatch_lines(["*fixture 'portadnn_diff' not found*"])


def test_the_example_of_the_guide_passes(project):
    guide = Path(__file__).resolve().parents[2] / "docs" / "diff.md"
    (example,) = re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    if get_backend("opencl").why_unavailable() is not None:
        example = example.replace('["opencl", "reference"]', '["reference"]')
    found = project(example)
    found.assert_outcomes(passed=52)
