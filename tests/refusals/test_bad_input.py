"""Every wrong call is refused with the right error, in words that help, and changes nothing."""

from __future__ import annotations

import bad_dropout
import bad_lrn
import bad_norm
import bad_queries
import bad_reduce
import bad_rnn
import bad_spatial
import bad_tensors
import bad_windows
import numpy as np
import pytest
from bad_calls import Env
from where import BACKENDS, open_handle, scratch

import portadnn as dnn

TABLES = (
    bad_dropout,
    bad_lrn,
    bad_norm,
    bad_queries,
    bad_rnn,
    bad_reduce,
    bad_spatial,
    bad_tensors,
    bad_windows,
)
ROWS = [row for table in TABLES for row in table.ROWS]
CASES = [(backend, row) for backend in BACKENDS for row in ROWS if backend in row.backends]


@pytest.fixture(scope="module")
def handles():
    """Handles by backend, opened when first asked for."""
    opened: dict[str, dnn.Handle] = {}

    def get(backend):
        if backend not in opened:
            opened[backend] = open_handle(backend)
        return opened[backend]

    yield get
    for handle in opened.values():
        handle.close()


@pytest.mark.parametrize(("backend", "row"), CASES, ids=[f"{b}-{r.name}" for b, r in CASES])
def test_refused(backend, row, handles):
    env = Env(handles(backend))
    with pytest.raises(dnn.DnnError) as caught:
        row.make(env)
    error, text = caught.value, str(caught.value)
    assert type(error) is row.error, text
    assert error.status == row.error.status
    assert text.startswith(f"{row.call}: {row.argument}: "), text
    for words in row.says:
        assert words in text
    for array, before in env.made:
        assert np.array_equal(env.h.to_numpy(array).view(np.uint8), before.view(np.uint8)), "a failed call wrote"


@pytest.mark.parametrize("backend", BACKENDS)
def test_right_calls_pass(backend, handles):
    """The right calls, from which the table's wrong ones differ in one thing, are right."""
    env = Env(handles(backend))
    for call in ("conv", "conv_data", "conv_filter", "bias", "pool", "pool_back", "act", "act_back"):
        getattr(env, call)()
    for call in ("soft", "soft_back", "transform", "add", "op", "set", "scale"):
        getattr(env, call)()
    for call in (*bad_lrn.RIGHT, *bad_norm.RIGHT, *bad_rnn.RIGHT, *bad_spatial.CALLS):
        call(env)


def test_the_table_is_long_and_cites_the_guide():
    assert len(ROWS) >= 130
    listed = {row.section for row in ROWS}
    sections = "4.8 4.9 4.11 4.14 4.15 4.16 4.17 4.18 4.20 4.26 4.27 4.34 4.36 4.37 4.39 4.41 4.42 4.43 4.44 4.45"
    sections += " 4.46 4.47 4.48 4.49 4.50 4.51 4.52 4.53 4.54 4.55 4.56 4.57 4.58 4.60 4.62 4.73 4.74 4.75 4.76 4.77"
    sections += " 4.78 4.80 4.88 4.91 4.92 4.93 4.94 4.95 4.96 4.97 4.98 4.120 4.121 4.122 4.123 4.124"
    sections += " 4.101 4.102 4.103 4.104 4.105 4.106 4.107 4.108 4.109 4.110"
    assert not set(sections.split()) - listed


def test_errors_are_also_pythons_own():
    assert issubclass(dnn.BadParam, ValueError)
    assert issubclass(dnn.NotSupported, NotImplementedError)
    assert issubclass(dnn.AllocFailed, MemoryError)
    statuses = {kind.status for kind in (dnn.BadParam, dnn.NotSupported, dnn.AllocFailed, dnn.NotInitialized)}
    assert statuses == {1, 2, 3, 9}
    assert dnn.get_error_string(dnn.BadParam.status).startswith("BAD_PARAM: ")
    assert all(dnn.get_error_string(status) for status in range(11))


def too_small(env):
    """Return a convolution of the handle that needs a workspace, and the bytes it needs; or None."""
    conv = dnn.ConvolutionDescriptor((1, 1))
    for function, names in (("forward", "xwy"), ("backward_data", "wyx"), ("backward_filter", "xyw")):
        dims = {"x": (2, 16, 14, 14), "w": (32, 16, 3, 3), "y": (2, 32, 14, 14)}
        a, b, c = (env.t(dims[name]) for name in names)
        size = getattr(dnn, f"get_convolution_{function}_workspace_size")
        needed = size(env.h, a, b, conv, c)
        if needed:
            return getattr(dnn, f"convolution_{function}"), (a, b, conv, c), needed
    return None


@pytest.mark.parametrize("backend", BACKENDS)
def test_workspace(backend, handles):
    """A byte too few is refused and both numbers are named; the exact size is taken."""
    env = Env(handles(backend))
    found = too_small(env)
    if found is None:
        pytest.skip(f"no convolution of {backend} needs a workspace")
    function, args, needed = found
    with pytest.raises(dnn.BadParam) as caught:
        function(env.h, *args, workspace=scratch(env.h, needed - 1))
    assert f"workspace: expected at least {needed} bytes, got {needed - 1} bytes" in str(caught.value)
    head = dnn.TensorDescriptor(args[0].shape)
    base = env.t((1, 1, max(needed, head.size_in_bytes) // 4 + 1))
    with pytest.raises(dnn.BadParam, match="workspace: expected memory of its own, apart from"):
        function(env.h, head.view(base), *args[1:], workspace=base)
    for array, before in env.made:
        assert np.array_equal(env.h.to_numpy(array), before)
    function(env.h, *args, workspace=scratch(env.h, needed))


def test_arrays_are_not_written_out():
    with open_handle("reference") as handle:
        x = np.zeros((2, 3, 40, 50), np.float32)
        with pytest.raises(dnn.BadParam) as caught:
            dnn.pooling_forward(handle, dnn.PoolingDescriptor("max", (2, 2)), x)
        assert str(caught.value).endswith("got a numpy.ndarray of shape (2, 3, 40, 50)")
        with pytest.raises(dnn.BadParam) as caught:
            dnn.ActivationDescriptor([list(range(10_000))])
        assert len(str(caught.value)) < 500
