"""The generator of C's functions: what an implementation is given for its parameters, and how the text is broken."""

from __future__ import annotations

import ast

import pytest

from portadnn.c_names.generate.body import Body
from portadnn.c_names.generate.front_end import FrontEnd, Signature
from portadnn.c_names.generate.text import bracketed
from portadnn.mapping import Function, Parameter, Row

PARAMETERS = (
    ("handle", "cudnnHandle_t", "in"),
    ("poolingDesc", "const cudnnPoolingDescriptor_t", "in"),
    ("xDesc", "const cudnnTensorDescriptor_t", "in"),
    ("x", "const void *", "in"),
    ("means", "const void *", "in"),
    ("workSpace", "void *", "in"),
    ("workSpaceSizeInBytes", "size_t", "in"),
    ("count", "int", "in"),
    ("size", "int *", "out"),
)
CLASSES = {
    "cudnnPoolingDescriptor_t": ("..descriptors", "PoolingDescriptor"),
    "cudnnTensorDescriptor_t": ("..descriptors", "TensorDescriptor"),
}


def body(implementation, **columns) -> Body:
    """Return the body of a function of C that is implemented by a function."""
    function = Function("cudnnF", "cudnn", tuple(Parameter(*p) for p in PARAMETERS), ("9.0.0", "9.0.0"), **columns)
    own = FrontEnd("cudnn", {"cudnnF": (("..f", "cudnnF"), implementation)}, CLASSES)
    return Body(own, Signature(function), Row("pooling", function, (), ()))


def arguments(implementation, **columns) -> list[str]:
    """Return the arguments of the one call that such a body makes."""
    text = "\n".join(["def f():", *body(implementation, **columns).lines()])
    (statement,) = ast.parse(text).body[0].body
    call = statement.value
    return [ast.unparse(a) for a in call.args] + [f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords]


@pytest.mark.parametrize(
    ("implementation", "columns", "wanted"),
    [
        (lambda handle, count: None, {}, ["handle", "count"]),
        (lambda x: None, {}, ["tensor(handle, xDesc, x, 'x')"]),
        (lambda xDesc, x: None, {}, ["xDesc", "tensor(handle, xDesc, x, 'x')"]),
        (lambda x: None, {"null": ("x",)}, ["optional(handle, xDesc, x, 'x')"]),
        (lambda raw_x: None, {}, ["x"]),
        (lambda means: None, {}, ["means"]),
        (lambda means: None, {"layouts": {"means": "xDesc"}}, ["tensor(handle, xDesc, means, 'means', 'xDesc')"]),
        (lambda pooling: None, {}, ["value_of(poolingDesc, PoolingDescriptor, 'poolingDesc')"]),
        (lambda poolingDesc: None, {}, ["poolingDesc"]),
        (lambda workSpace: None, {}, ["scratch(handle, workSpace, workSpaceSizeInBytes)"]),
        (lambda workSpace, workSpaceSizeInBytes: None, {}, ["workSpace", "workSpaceSizeInBytes"]),
        (lambda scale: None, {"arguments": {"scale": "count"}}, ["count"]),
        (
            lambda handle, x, *rest: None,
            {},
            [
                "handle",
                "tensor(handle, xDesc, x, 'x')",
                "poolingDesc",
                "means",
                "workSpace",
                "workSpaceSizeInBytes",
                "count",
            ],
        ),
        (
            lambda handle, poolingDesc, xDesc, raw_x, means, **c: None,
            {},
            [
                "handle",
                "poolingDesc",
                "xDesc",
                "x",
                "means",
                "workSpace=workSpace",
                "workSpaceSizeInBytes=workSpaceSizeInBytes",
                "count=count",
            ],
        ),
    ],
)
def test_arguments_follow_from_the_names(implementation, columns, wanted):
    assert arguments(implementation, **columns) == wanted


def test_results_are_returned():
    assert body(lambda count: None).lines() == ["    return _F(count)"]


def test_a_keyword_of_an_implementation_becomes_one_of_the_function():
    def implementation(count, *, backend: str = "auto"):
        """Take what C lacks."""

    made = body(implementation)
    assert made.lines() == ["    return _F(count, backend=backend)"]
    assert made.more == ["*", 'backend: str = "auto"']


def test_a_parameter_that_nothing_is_given_for_is_named():
    with pytest.raises(ValueError, match="cudnnF: nothing in C for the parameter 'sideways'"):
        body(lambda sideways: None).lines()


@pytest.mark.parametrize(("count", "lines"), [(3, 1), (19, 3), (40, 42)])
def test_calls_are_broken_as_ruff_does(count, lines):
    text = bracketed(4, "function", ["word"] * count, "")
    assert len(text) == lines
    assert all(len(line) <= 120 for line in text)
