"""The reader of C++: the preprocessor, comments, places in the text, and whatever a file may hold."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portadnn.migrate import cpp
from portadnn.migrate.program import Alternatives, Block, Evaluate, Invocation, Name, Span, Unit


def read(code: str | bytes, **options: object) -> Unit:
    """Read a piece of a program."""
    return cpp.read(code.encode() if isinstance(code, str) else code, "a.cu", **options)  # type: ignore[arg-type]


def invocations(part: object) -> Iterator[Invocation]:
    """Yield all calls in a part of a program, in order."""
    if isinstance(part, Invocation):
        yield part
    if isinstance(part, tuple | list) and not isinstance(part, Span):
        for one in part:
            yield from invocations(one)
    elif hasattr(part, "__dataclass_fields__"):
        for name in part.__dataclass_fields__:
            yield from invocations(getattr(part, name))


def called(unit: Unit) -> list[str]:
    """Return the names of what is called in all functions."""
    return [made.callee.name for made in invocations([f.body for f in unit.functions]) if isinstance(made.callee, Name)]


# The preprocessor -------------------------------------------------------------------------------------------------

VERSIONS = """
#if CUDNN_VERSION >= 8000
  cudnnEight();
#elif CUDNN_MAJOR == 7 && CUDNN_MINOR > 4
  cudnnSeven();
#else
  cudnnOld();
#endif
"""


@pytest.mark.parametrize(
    ("version", "expected"),
    [("9.1", "cudnnEight"), ("8", "cudnnEight"), ("7.6.5", "cudnnSeven"), ("7.4", "cudnnOld"), ("5.1", "cudnnOld")],
)
def test_versions_decide(version, expected):
    unit = read(f"void f() {{ {VERSIONS} }}", cudnn_version=version)
    assert called(unit) == [expected]
    assert [name for name, _, _ in unit.mentions] == [expected]


def test_without_a_version_all_branches_are_alternatives():
    (statement,) = read(f"void f() {{ {VERSIONS} }}").functions[0].body.statements
    assert isinstance(statement, Alternatives)
    assert statement.complete
    assert [condition for condition, _ in statement.branches] == [
        "CUDNN_VERSION >= 8000",
        "!(CUDNN_VERSION >= 8000) && CUDNN_MAJOR == 7 && CUDNN_MINOR > 4",
        "!(CUDNN_VERSION >= 8000) && !(CUDNN_MAJOR == 7 && CUDNN_MINOR > 4)",
    ]


@pytest.mark.parametrize(
    ("condition", "version", "taken"),
    [
        ("#if CUDNN_VERSION_MIN(7, 0, 0)", "7.0", True),
        ("#if CUDNN_VERSION_MIN(7, 0, 0)", "6.5", False),
        ("#define MIN(a, b) (CUDNN_VERSION >= a * 1000 + b * 100)\n#if MIN(5, 1)", "5.0", False),
        ("#define MIN(a, b) (CUDNN_VERSION >= a * 1000 + b * 100)\n#if MIN(5, 1)", "5.1", True),
        ("#ifdef USE_CUDNN", None, True),
        ("#if defined(PADDLE_WITH_CUDA) && !defined(_WIN32)", None, True),
        ("#if MXNET_USE_CUDNN == 1", None, True),
        ("#ifdef __CUDACC__", None, True),
        ("#if 0", None, False),
        ("#if (1 << 3) - 8 || 07 == 8 || -1 > 0u", None, False),
        ("#define DEPTH 3\n#if DEPTH > 2 ? 1 : 0", None, True),
        ("#ifndef GUARD_H\n#define GUARD_H", None, True),
        ("#define A\n#undef A\n#ifdef A", None, False),
        ("#ifdef __cplusplus", None, True),
    ],
)
def test_conditions_that_are_known(condition, version, taken):
    unit = read(f"{condition}\nvoid f() {{ cudnnA(); }}\n#endif\nvoid g() {{ cudnnB(); }}", cudnn_version=version)
    assert called(unit) == (["cudnnA", "cudnnB"] if taken else ["cudnnB"])
    assert unit.functions[0].condition == ""


@pytest.mark.parametrize(
    "condition", ["#ifdef CPU_ONLY", "#if defined(FANCY)", "#if CUDNN_VERSION > 1", "#if A + (", "#if"]
)
def test_conditions_that_are_not_known(condition):
    unit = read(f"{condition}\nvoid f() {{ cudnnA(); }}\n#else\nvoid f() {{ cudnnB(); }}\n#endif\n")
    assert called(unit) == ["cudnnA", "cudnnB"]
    assert all(function.condition for function in unit.functions)


def test_the_compilers_macros_decide():
    code = "#if FANCY > 2\nvoid f() { cudnnA(); }\n#else\nvoid f() { cudnnB(); }\n#endif\n"
    assert called(read(code, defines={"FANCY": "3"})) == ["cudnnA"]
    assert called(read(code, defines={"FANCY": ""})) == ["cudnnB"]


def test_what_is_not_compiled_elsewhere_is_not_dropped():
    code = "void f() {\n#ifdef USE_CUDA\n  cudnnA();\n#else\n  miopenB();\n#endif\n}"
    assert called(read(code)) == ["cudnnA", "miopenB"]
    assert isinstance(read(code).functions[0].body.statements[0], Alternatives)


def test_branches_inside_an_expression():
    unit = read(
        "void f() {\n  a();\n  CHECK(cudnnA(x,\n#if V >= 2\n    1,\n#else\n    2, 3,\n#endif\n    y));\n  b();\n}"
    )
    first, both, last = unit.functions[0].body.statements
    assert isinstance(first, Evaluate)
    assert isinstance(last, Evaluate)
    assert isinstance(both, Alternatives)
    made = [next(invocations(block)) for _, block in both.branches]
    assert [(m.callee.name, len(m.arguments), m.checked) for m in made] == [("cudnnA", 3, True), ("cudnnA", 4, True)]
    assert [condition for condition, _ in both.branches] == ["V >= 2", "!(V >= 2)"]


def test_branches_with_open_brackets():
    code = (
        "void f() {\n#ifdef X\n  if (a) {\n    cudnnA();\n  } else {\n#else\n  {\n#endif\n"
        "    cudnnB();\n  }\n  cudnnC();\n}"
    )
    unit = read(code)
    both, last = unit.functions[0].body.statements
    assert [[m.callee.name for m in invocations(block)] for _, block in both.branches] == [
        ["cudnnA", "cudnnB"],
        ["cudnnB"],
    ]
    assert [m.callee.name for m in invocations(last)] == ["cudnnC"]


def test_macros_that_call_are_functions():
    unit = read(
        "#define MAKE(d, n) do { \\\n  CHECK(cudnnCreateTensorDescriptor(&d)); \\\n  set(d, n); \\\n} while (0)\n"
        "#define FORWARD cudnnConvolutionForward\n"
        "#define STATUS(x) { cudnnStatus_t s = x; if (s) throw cudnnGetErrorString(s); }\n"
        "void f() { MAKE(a, 3); STATUS(FORWARD(h)); }\n"
    )
    make, f = unit.functions
    assert (make.name, make.macro, [p.name for p in make.parameters]) == ("MAKE", True, ["d", "n"])
    assert all(parameter.reference for parameter in make.parameters)
    assert [m.callee.name for m in invocations(make.body)] == ["cudnnCreateTensorDescriptor", "set"]
    assert next(invocations(make.body)).span.line == 2
    assert unit.aliases == {"FORWARD": "cudnnConvolutionForward"}
    forward = [m for m in invocations(f.body) if m.callee.name == "FORWARD"]
    assert [m.checked for m in forward] == [True]
    assert [name for name, _, _ in unit.mentions] == [
        "cudnnCreateTensorDescriptor",
        "cudnnGetErrorString",
        "cudnnConvolutionForward",
    ]


def test_blocks_in_macros_and_launches():
    unit = read(
        "__global__ void k(int* p) { *p = 1; }\n"
        "class LIB_API A : public B { DISABLE_COPY(A); void f(); };\n"
        "void A::f() {\n  k<<<dim3(1), 256, 0, s>>>(p);\n  checkCUDNN({ cudnnA(h); cudnnB(h); });\n"
        "  TYPE_SWITCH(t, T, { CALL(cudnnC(h, T(1))); });\n  CALL(cudnnD(h))\n  CALL(cudnnE(h))\n}\n"
    )
    names = ["cudnnA", "cudnnB", "cudnnC", "cudnnD", "cudnnE"]
    made = [m for m in invocations(unit.functions[-1].body) if m.callee.name in names]
    assert [m.callee.name for m in made] == names
    assert all(m.checked for m in made)
    assert unit.functions[-1].owner == "A"


# Comments and places ---------------------------------------------------------------------------------------------


def test_comments_that_silence():
    unit = read(
        "void f() {\n"
        "  cudnnA(h); // portadnn: ignore[S01, PD-V10]\n"
        "  // portadnn: ignore\n"
        "  /* and why */\n"
        "  cudnnB(h,\n"
        "    1);\n"
        "  cudnnC(h,\n"
        "    1);  /* PORTADNN: ignore[A03] */\n"
        '  g("portadnn: ignore");\n'
        "  x = 1; // portadnn:ignore[]\n"
        "}\n"
    )
    assert unit.suppressions == {2: {"S01", "V10"}, 5: frozenset(), 7: {"A03"}}


def test_places_with_all_kinds_of_lines():
    lines = ["\ufeff/* ä */ void f() {", 'g("日本", cudnnA(h));\r', "\tx = \\", "cudnnB(h); }"]
    raw = "\n".join(lines).encode()
    raw = raw.replace("日".encode(), b"\xff")
    unit = cpp.read(raw, "a.cpp")
    assert unit.lines == 4
    assert unit.functions[0].span.column == 9
    for name, span, text in unit.mentions:
        shown = raw.decode("utf-8", "replace").split("\n")[span.line - 1].removeprefix("\ufeff")
        assert shown[span.column - 1 : span.end_column - 1] == text == f"{name}(h)"
        assert raw[span.start : span.end].decode() == text


def test_what_is_not_a_call():
    unit = read(
        "cudnnStatus_t CUDNNWINAPI cudnnCreate(cudnnHandle_t *handle);\n"
        "const char *cudnnGetErrorString(cudnnStatus_t status);\n"
        "static int cudnnHelper(int x) { return x; }\n"
        "// cudnnDestroy(h)\n"
        'const char* s = "cudnnDestroy(h)";\n'
        "int y = cudnnHelper(1), *p = &cudnnDestroy, z = (int)cudnnDataType_t(1);\n"
        "#if 0\nint w = cudnnDestroy(h);\n#endif\n"
        "int v = 2 * cudnnGetVersion();\n"
    )
    assert [name for name, _, _ in unit.mentions] == ["cudnnGetVersion"]


def test_functions_that_nothing_links_are_left_out():
    unit = read(
        "int size(int n) { return n; }\nvoid init() { cudnnCreate(&h); size(3); }\nint main() { init(); }\n"
        "int other(int alone) { return far_away(alone); }\n"
        "struct L { void a() { b_ = 1; } cudnnHandle_t h; int b_; };\n"
    )
    assert [f.name for f in unit.functions] == ["size", "init", "main", "a"]
    assert "far_away" in unit.left_out
    again = read(
        "int other(int alone) { return far_away(alone); }\nint third() { return other(1); }", names=[b"far_away"]
    )
    assert [f.name for f in again.functions] == ["other", "third"]


# Whatever a file may hold ------------------------------------------------------------------------------------------

CALL = b"cudnnCreate(&h);"
MANY = 5000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"void f(){ x = " + b"(" * MANY + b"1" + b")" * MANY + b"; " + CALL + b"}", id="brackets"),
        pytest.param(b"void f()" + b"{" * MANY + CALL, id="open blocks"),
        pytest.param(b"void f(){ " + b"CHECK(cudnnA(" * MANY + b"))" * MANY + b";" + CALL + b"}", id="calls in calls"),
        pytest.param(b"void f(){ x = " + b"!" * MANY + b"1; " + CALL + b"}", id="unary"),
        pytest.param(b"void f(){ x = " + b"1+" * MANY + b"1; " + CALL + b"}", id="sum"),
        pytest.param(b"void f(){ a" + b".b()" * MANY + b"; " + CALL + b"}", id="methods"),
        pytest.param(b"void f(){ " + b"if (a) b(); else " * MANY + CALL + b"}", id="else if"),
        pytest.param(b"void f(){ " + b"[&]{" * MANY + CALL + b"}" * MANY + b"}", id="lambdas"),
        pytest.param(b"void f(){ " + b"a<" * MANY + CALL + b"}", id="templates"),
        pytest.param(b"#if A\n" * MANY + CALL + b"\n#endif\n" * MANY, id="conditions in conditions"),
        pytest.param(b"#if A\n" + b"#elif USE_CUDA\n" * MANY + CALL + b"\n#endif\n", id="elif"),
        pytest.param(b"void f(){" + b"g(\n#if A\n1\n#else\n2\n#endif\n);" * 500 + CALL + b"}", id="split calls"),
        pytest.param(b"#if " + b"(" * MANY + b"\n" + CALL + b"\n#endif", id="condition"),
        pytest.param(
            b"".join(b"#define A%d (A%d+A%d)\n" % (i, i + 1, i + 1) for i in range(60))
            + b"#if A0\n"
            + CALL
            + b"\n#endif",
            id="macros that double",
        ),
        pytest.param(b"k<<<" * MANY + CALL, id="launches"),
        pytest.param(CALL + b'R"a(' * MANY, id="raw strings"),
        pytest.param(CALL + b"/* " * MANY, id="comments"),
        pytest.param(CALL + b'\n"' + b'\\"' * MANY, id="quotes"),
        pytest.param(b"int a[] = {" + b"1," * 100000 + b"};" + CALL, id="numbers"),
        pytest.param(b"M(a, {b;}, " * MANY + CALL, id="blocks in macros"),
        pytest.param(bytes(range(1, 256)) * 200 + b"\n" + CALL, id="all bytes"),
        pytest.param(b"cudnnCreate(" * MANY, id="open calls"),
        pytest.param(b" " * 1000000 + CALL, id="a long line"),
    ],
)
def test_hostile_files_are_read_and_lose_no_call(text):
    began = time.thread_time()
    unit = cpp.read(text, "a.cpp")
    assert time.thread_time() - began < 10
    assert "cudnnCreate" in [name for name, _, _ in unit.mentions]


def test_files_that_are_no_text():
    assert [s.reason for s in cpp.read(b"\x7fELF\0\0cudnnCreate(&h)", "a.c").skipped] == [
        "not text in UTF-8 or a part of ASCII: binary"
    ]
    assert "UTF-16" in cpp.read("cudnnCreate(&h);".encode("utf-16"), "a.c").skipped[0].reason
    assert cpp.read(b"", "a.c") == Unit("a.c")


def test_time_is_limited():
    unit = cpp.read(b"void f() { " + CALL * 1000 + b"}", "a.c", seconds=0)
    assert [s.reason for s in unit.skipped] == ["took too long to read: only searched for calls"]
    assert len(unit.mentions) == 1000


TOKENS = (
    *[
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        ";",
        ",",
        "=",
        "&",
        "*",
        "!",
        "::",
        "->",
        ".",
        "+",
        "-",
        "?",
        ":",
        "#",
        "\\",
        "'",
        '"',
        "//",
        "/*",
        "*/",
        "<<<",
        ">>>",
        "\n",
    ],
    *[
        "int",
        "void",
        "struct",
        "class",
        "template",
        "if",
        "else",
        "for",
        "switch",
        "case",
        "return",
        "auto",
        "x",
        "f",
        "T",
        "1",
        "2.0f",
        "cudnnCreate",
        "cudnnA",
        "CHECK",
    ],
    *(
        "\n#if A\n",
        "\n#ifdef B\n",
        "\n#else\n",
        "\n#elif C\n",
        "\n#endif\n",
        "\n#define M(x) ",
        "\n#define N ",
        "[&]",
        "\n",
        "é",
    ),
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(st.sampled_from(TOKENS), max_size=60).map(lambda tokens: " ".join(["cudnnX ( 1 ) ;", *tokens])))
def test_rows_of_tokens_are_read(code):
    raw = code.encode()
    unit = cpp.read(raw, "a.cpp", names=[b"x"])
    assert unit.mentions[0][0] == "cudnnX" or re.match(rb"cudnnX \( 1 \) ; [^;]*cudnnX", raw)
    for made in invocations([unit.functions, unit.variables]):
        assert 0 <= made.span.start <= made.span.end <= len(raw)
        assert made.text == raw[made.span.start : made.span.end].decode("utf-8", "replace")
    for _, span, text in unit.mentions:
        assert text == raw[span.start : span.end].decode("utf-8", "replace")
        before = raw[: span.start].decode().split("\n")
        assert (span.line, span.column) == (len(before), len(before[-1]) + 1)
    assert all(isinstance(function.body, Block) for function in unit.functions)
