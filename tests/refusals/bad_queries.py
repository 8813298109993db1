# ruff: noqa: E501 -- one row, one line
"""Wrong queries of convolution algorithms; see bad_calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from bad_calls import Env, Row, bad, unsupported

import portadnn as dnn

T, F, C = dnn.TensorDescriptor, dnn.FilterDescriptor, dnn.ConvolutionDescriptor
C1 = C((1, 1))
X, W, Y = T((1, 3, 8, 8)), F((4, 3, 3, 3)), T((1, 4, 8, 8))
ORDERS = {"forward": "xwy", "backward_data": "wyx", "backward_filter": "xyw"}
SECTIONS = {
    "forward": ("4.41", "4.42", "4.43"),
    "backward_data": ("4.52", "4.53", "4.54"),
    "backward_filter": ("4.47", "4.48", "4.49"),
}


def query(way: str, form: str, **given: Any) -> Callable[[Env], Any]:
    """Return a call of a query with right arguments but for the given ones; x, w and y mean the roles."""

    def call(e: Env) -> Any:
        values = {"h": e.h, "x": X, "w": W, "y": Y, "conv": C1, **given}
        values = {name: value(e) if callable(value) else value for name, value in values.items()}
        if form.endswith("_ex"):
            for role in "xwy":
                if isinstance(values[role], T | F):
                    values[role] = e.t(values[role].dims, values[role].dtype.numpy)
        handle, conv, a, b, c = (values.pop(name) for name in ("h", "conv", *ORDERS[way]))
        for role in "xwy":
            values.pop(role, None)
        return getattr(dnn, form.format(way))(handle, a, b, conv, c, **values)

    return call


def _rows(way: str) -> list[Row]:
    plain, ex, get = SECTIONS[way]
    names = dict(
        zip(
            ORDERS[way],
            {"forward": ("x", "w", "y"), "backward_data": ("w", "dy", "dx"), "backward_filter": ("x", "dy", "dw")}[way],
            strict=True,
        )
    )
    forms = {
        "find_convolution_{}_algorithm": plain,
        "find_convolution_{}_algorithm_ex": ex,
        "get_convolution_{}_algorithm": get,
        "get_convolution_{}_algorithm_v7": get,
    }
    forms["get_convolution_{}_find_workspace_size"] = get
    rows = []
    for form, section in forms.items():
        call = form.format(way)
        rows += [
            bad(section, call, query(way, form, h=None), "handle", "portadnn.Handle", "None"),
            bad(section, call, query(way, form, conv=None), "conv", "ConvolutionDescriptor", "None"),
            bad(section, call, query(way, form, **{ORDERS[way][0]: None}), names[ORDERS[way][0]], "a tensor", "None"),
            bad(section, call, query(way, form, **{ORDERS[way][1]: "text"}), names[ORDERS[way][1]], "", "str"),
            bad(
                section, call, query(way, form, y=T((1, 4, 7, 8))), f"{names['y']}.dims", "(1, 4, 8, 8)", "(1, 4, 7, 8)"
            ),
            bad(
                section,
                call,
                query(way, form, w=F((4, 2, 3, 3))),
                f"{names['x']}.dims[1]",
                "has 3",
                "w expects 2" if way != "backward_filter" else "dw expects 2",
            ),
            bad(section, call, query(way, form, y=T((1, 4, 8, 8), "half")), f"{names['y']}.dtype", "FLOAT", "HALF"),
            Row(section, call, query(way, form, h=lambda e: e.closed()), dnn.NotInitialized, "handle", ("closed",)),
            unsupported(
                section,
                call,
                query(way, form, x=T((1, 3, 8)), w=F((4, 3, 3)), y=T((1, 4, 8)), conv=C((1,))),
                f"{names['x']}.dims",
                "4 or 5",
                "(1, 3, 8)",
            ),
        ]
        if form.startswith("find") or form.endswith("v7"):
            rows += [
                bad(section, call, query(way, form, requested=r), "requested", "an integer >= 1", repr(r))
                for r in (0, -1, 1.5, True, "all")
            ]
    call = f"get_convolution_{way}_algorithm"
    form = "get_convolution_{}_algorithm"
    rows += [
        bad(get, call, query(way, form, preference="best"), "preference", "PREFER_FASTEST", "'best'"),
        bad(get, call, query(way, form, preference=3), "preference", "NO_WORKSPACE", "3"),
        bad(get, call, query(way, form, preference=2), "memory_limit", "an integer >= 0", "None"),
        bad(get, call, query(way, form, memory_limit=-1), "memory_limit", "an integer >= 0", "-1"),
        bad(get, call, query(way, form, memory_limit=1e9), "memory_limit", "an integer >= 0", "1000000000.0"),
    ]
    call, form = f"find_convolution_{way}_algorithm_ex", "find_convolution_{}_algorithm_ex"
    last = ORDERS[way][2]
    rows += [
        bad(ex, call, query(way, form, **{last: None}), names[last], "a tensor", "None"),
        bad(ex, call, query(way, form, workspace="none"), "workspace", "", "str"),
        bad(ex, call, query(way, form, workspace=lambda e: [0] * 99), "workspace", "", "list"),
        bad(
            ex, call, query(way, form, workspace=lambda e: np.zeros(99, "u1")), "workspace", "", "", backends=("cuda",)
        ),
        bad(ex, call, query(way, form, **{ORDERS[way][1]: lambda e: e.foreign()}), names[ORDERS[way][1]], "", ""),
    ]
    rows.append(bad(ex, call, _shared_workspace(way), "workspace", "memory of its own, apart from"))
    rows.append(bad(ex, call, _shared_output(way), names[last], f"apart from {names[ORDERS[way][0]]}", "shared memory"))
    return rows


def _shared_workspace(way: str) -> Callable[[Env], Any]:
    def call(e: Env) -> Any:
        base = e.t((1, 1, 64, 64))
        a, b, c = ({"x": X, "w": W, "y": Y}[role] for role in ORDERS[way])
        find = getattr(dnn, f"find_convolution_{way}_algorithm_ex")
        return find(e.h, a.view(base), e.t(b.dims), C1, e.t(c.dims), workspace=base)

    return call


def _shared_output(way: str) -> Callable[[Env], Any]:
    def call(e: Env) -> Any:
        base = e.t((1, 1, 64, 64))
        a, b, c = ({"x": X, "w": W, "y": Y}[role] for role in ORDERS[way])
        return getattr(dnn, f"find_convolution_{way}_algorithm_ex")(e.h, a.view(base), e.t(b.dims), C1, c.view(base, 8))

    return call


ROWS: list[Row] = [row for way in ORDERS for row in _rows(way)]
ROWS += [
    bad("4.41", f"get_convolution_{way}_algorithm_max_count", lambda e, way=way: getattr(dnn, f"get_convolution_{way}_algorithm_max_count")(None), "handle", "portadnn.Handle", "None")
    for way in ORDERS
]  # fmt: skip
