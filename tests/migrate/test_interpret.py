"""Programs are followed: values, branches, loops."""

from __future__ import annotations

import pytest
from following import call, calls, follow

from portadnn.migrate.interpret import types


def program(body: str, before: str = "") -> str:
    return f"#include <cudnn.h>\n{before}\nvoid program(cudnnHandle_t handle, int runtime) {{\n{body}\n}}\n"


SET = "cudnnTensorDescriptor_t x; cudnnCreateTensorDescriptor(&x);\ncudnnSetTensor4dDescriptor(x, {0});"
TENSOR = "CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, "


@pytest.mark.parametrize(
    ("before", "body", "n"),
    [
        ("", "int n = 3; n *= 2; n++; n -= 1;", 6),
        ("#define BATCH 64", "int n = BATCH / 2;", 32),
        ("const int batch = 5;", "int n = batch + sizeof(float);", 9),
        ("enum { ONE = 1, EIGHT = 8 };", "int n = EIGHT;", 8),
        ("constexpr int twice(int a) { return 2 * a; }", "int n = twice(4);", 8),
        ("", "int dims[4] = {7, 3, 2, 1}; int n = dims[0];", 7),
        ("", "int n = 1; int *p = &n; *p = 12;", 12),
        ("", "int n = true ? 4 : 9;", 4),
        ("", "int n = 1; if (sizeof(float) == 4) n = 10; else n = 20;", 10),
        ("", "int n = 0; for (int i = 0; i < 4; i++) n += i;", 6),
        ("", "int n = static_cast<int>(3.7);", 3),
        ("#include <algorithm>", "int n = std::max(3, 11);", 11),
        ("struct Shape { int n; int c; };", "Shape s{9, 2}; int n = s.n;", 9),
        ("struct Shape { int n = 21; };", "Shape s; int n = s.n;", 21),
        ("void set(int& a) { a = 17; }", "int n = 1; set(n);", 17),
        ("void set(int* a) { *a = 18; }", "int n = 1; set(&n);", 18),
        ("int pick(int kind) { switch (kind) { case 1: return 100; case 2: return 200; } return 0; }",
         "int n = pick(2);", 200),
        ("#include <vector>", "std::vector<int> v = {4, 5}; int n = v[1];", 5),
        ("#include <vector>", "std::vector<int> v; v.push_back(6); int n = v[0];", 6),
        ("", "int n = 2; while (n < 100) { n *= 2; }", None),
        ("", "int n = runtime;", None),
        ("int other();", "int n = other();", None),
        ("void change(int*);", "int n = 2; change(&n);", None),
    ],
)  # fmt: skip
def test_numbers_are_followed(before: str, body: str, n: int | None) -> None:
    set_ = SET.replace("{0}", TENSOR + "n, 1, 1, 1")
    assert call("cudnnSetTensor4dDescriptor", program(f"{body}\n{set_}", before)).constant("n") == n


def test_a_branch_makes_values_and_deeds_uncertain() -> None:
    source = program(
        "cudnnTensorDescriptor_t x; cudnnCreateTensorDescriptor(&x); int n = 1;"
        "if (runtime) { n = 2; cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, 1, 1, 1); }"
        "cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, 1, 1, 1);"
    )
    first, second = calls("cudnnSetTensor4dDescriptor", source)
    assert first.constant("n") == 2
    assert {option.data for option in second.value("n").options} == {1, 2}
    assert list(second.earlier("cudnnSetTensor4dDescriptor").values()) == [False]
    assert list(second.earlier("cudnnCreateTensorDescriptor").values()) == [True]
    assert not second.thing("tensorDesc").certain


def test_statuses() -> None:
    source = program(
        "cudnnCreate(&handle);\n"
        "if (cudnnCreate(&handle) != CUDNN_STATUS_SUCCESS) return;\n"
        "cudnnStatus_t unread = cudnnCreate(&handle);\n"
        "cudnnStatus_t read = cudnnCreate(&handle);\n if (read) abort();\n"
        "check(cudnnCreate(&handle));\n",
        "cudnnStatus_t f(cudnnHandle_t* h) { return cudnnCreate(h); }",
    )
    said = [(seen.event.place.line, seen.event.status) for seen in follow(source)]
    assert said == [(2, "returned"), (4, "ignored"), (5, "checked"), (6, "ignored"), (7, "checked"), (9, "checked")]


@pytest.mark.parametrize(
    ("type_", "first"), [("std::vector<int>", "int"), ("map<pair<int, A>, B>", "pair<int, A>"), ("int", ""), ("", "")]
)
def test_the_first_argument_of_a_template(type_, first):
    assert types.template_argument(type_) == first
