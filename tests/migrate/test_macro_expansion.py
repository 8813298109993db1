# ruff: noqa: E501
"""Macros that take calls apart, functions that are given a library's function, pointers to one."""

from pathlib import Path

import pytest

from portadnn import migrate
from portadnn.migrate.cpp import read
from portadnn.migrate.cpp.expansion import Expander, Template, taking_apart

SET = "cudnnSetActivationDescriptor"
ARGUMENTS = "act, CUDNN_ACTIVATION_TANH, CUDNN_NOT_PROPAGATE_NAN, 0.0"


def expanded(macros: dict[str, tuple[str, str]], code: str) -> str | None:
    """Return what an invocation stands for; macros by name, each with its parameters and its body."""
    templates = [
        Template(name, tuple(p.strip() for p in given.split(",")), body.encode())
        for name, (given, body) in macros.items()
    ]
    result = Expander(taking_apart(templates)).expand(code.encode(), 0)
    return None if result is None else "".join(result.code.decode().split())


@pytest.mark.parametrize(
    ("macros", "code", "wanted"),
    [
        ({"EXEC": ("f, ...", "check(f(__VA_ARGS__))")}, "EXEC(cudnnCreate, &h)", "check(cudnnCreate(&h))"),
        ({"EXEC": ("f, args...", "check((f)(args), #f)")}, "EXEC(cudnnCreate, &h)", 'check((cudnnCreate)(&h),"cudnnCreate")'),
        ({"DNN": ("x, ...", "cudnn##x(__VA_ARGS__)")}, "DNN(Create, &h)", "cudnnCreate(&h)"),
        ({"A": ("f, ...", "B(f, __VA_ARGS__)"), "B": ("g, ...", "g(__VA_ARGS__)")}, "A(cudnnSetStream, h, s)", "cudnnSetStream(h,s)"),
        ({"H": ("f, ...", "f(handle, ##__VA_ARGS__)")}, "H(cudnnDestroy)", "cudnnDestroy(handle)"),
        ({"O": ("f, ...", "f(handle __VA_OPT__(,) __VA_ARGS__)")}, "O(cudnnSetStream, s)", "cudnnSetStream(handle,s)"),
        ({"O": ("f, ...", "f(handle __VA_OPT__(,) __VA_ARGS__)")}, "O(cudnnDestroy)", "cudnnDestroy(handle)"),
        ({"S": ("f, a", "f(a); f(a)")}, "S(cudnnDestroy, h(1, 2))", "cudnnDestroy(h(1,2));cudnnDestroy(h(1,2))"),
        ({"R": ("f, ...", "R(f, __VA_ARGS__); f(__VA_ARGS__)")}, "R(cudnnDestroy, h)", "R(cudnnDestroy,h);cudnnDestroy(h)"),
        ({"P": ("a, b", "a##b(h)")}, "P(cudnn, Destroy)", "cudnnDestroy(h)"),
        ({"EXEC": ("f, ...", "f(__VA_ARGS__)")}, "EXEC(other, &h)", None),  # no call of a library
        ({"CHECK": ("x", "check(x)")}, "CHECK(cudnnDestroy(h))", "CHECK(cudnnDestroy(h))"),  # left to the checker
    ],
)  # fmt: skip
def test_the_preprocessors_rules(macros, code, wanted):
    assert expanded(macros, code) == wanted


def test_each_token_keeps_its_place():
    macro = Template("EXEC", ("f", "..."), b"check(f(__VA_ARGS__))")
    code = b"EXEC(cudnnSetStream, handle, stream)"
    result = Expander(taking_apart([macro])).expand(code, 100)
    assert result is not None
    for word in (b"cudnnSetStream", b"handle", b"stream"):
        here, there = result.code.index(word), code.index(word)
        assert (result.starts[here], result.ends[here + len(word) - 1]) == (100 + there, 100 + there + len(word))
    assert (result.starts[0], result.ends[0]) == (100, 100 + len(code))  # what stands in the macro: the invocation


CALLS = {
    "a macro of statements": ("#define EXEC(f, ...) { auto s = f(__VA_ARGS__); if (s) fail(#f); }", f"EXEC({SET}, {ARGUMENTS});"),
    "a macro in an expression": ("#define EXEC(f, ...) [&] { return f(__VA_ARGS__); }()", f"if (EXEC({SET}, {ARGUMENTS})) return;"),
    "a pasted name": ("#define DNN(x, ...) check(cudnn##x(__VA_ARGS__), #x)", f"DNN(SetActivationDescriptor, {ARGUMENTS});"),
    "a name without the prefix and a handle": ("#define DNN(x, d, ...) check(cudnn##x##Descriptor(d, __VA_ARGS__))", f"DNN(SetActivation, {ARGUMENTS});"),
    "a macro over several lines": ("#define EXEC(f, ...) \\\n  do { \\\n    check(f(__VA_ARGS__)); \\\n  } while (0)", f"EXEC({SET}, {ARGUMENTS});"),
    "a macro that nobody saw": ("", f"EXEC({SET}, {ARGUMENTS});"),
    "a template": ("template <class F, class... A> void call(F f, A... args) { check(f(args...)); }", f"call({SET}, {ARGUMENTS});"),
    "a template that forwards": ("template <class F, class... A> void call(F&& f, A&&... args) { check(f(std::forward<A>(args)...)); }", f"call(&{SET}, {ARGUMENTS});"),
    "a template that adds an argument": ("template <class F, class... A> void call(F f, A... args) { check(f(act, args...)); }", f"call({SET}, CUDNN_ACTIVATION_TANH, CUDNN_NOT_PROPAGATE_NAN, 0.0);"),
    "a function pointer": ("", f"auto f = &{SET}; f({ARGUMENTS});"),
    "a function pointer that is dereferenced": ("", f"auto f = {SET}; (*f)({ARGUMENTS});"),
    "a pointer of the old kind": (f"cudnnStatus_t (*set_it)(cudnnActivationDescriptor_t, int, int, double) = {SET};", f"set_it({ARGUMENTS});"),
    "dlsym": ("struct Api { set_t set; } api;", f'api.set = (set_t)dlsym(lib, "{SET}"); api.set({ARGUMENTS});'),
    "a loader": ("struct Api { set_t set; } *api;", f'load(lib, &api->set, "{SET}"); api->set({ARGUMENTS});'),
    "decltype": (f"struct Api {{ decltype(&{SET}) set; }};", f"api.set({ARGUMENTS});"),
    "a table of names": (f'struct {{ const char* name; void** to; }} table[] = {{{{"{SET}", (void**)&set_it}}}};', f"set_it({ARGUMENTS});"),
    "a lambda": ("", f"auto run = [&](cudnnActivationMode_t m) {{ check({SET}(act, m, CUDNN_NOT_PROPAGATE_NAN, 0.0)); }}; run(CUDNN_ACTIVATION_TANH);"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_judged_however_it_is_written(name):
    top, call = CALLS[name]
    text = f"{top}\nvoid run(cudnnActivationDescriptor_t act) {{\n  {call}\n}}\n"
    report = migrate.check_text(text)
    line = text[: text.index(f"  {call}")].count("\n") + 1
    assert {(f.rule, f.place.line) for f in report.alarms} == {("V10", line)}
    assert [c.place.line for c in report.calls if c.function == SET] == [line]
    assert report.coverage.by_name == 0


def test_macros_of_other_files(tmp_path: Path):
    (tmp_path / "exec.h").write_text(
        "#define EXEC(f, ...) f(context().handle(), __VA_ARGS__)\n#define DNN(x, ...) cudnn##x(__VA_ARGS__)\n"
    )
    (tmp_path / "a.cu").write_text(
        '#include "exec.h"\nvoid a(cudnnActivationDescriptor_t act) {\n  EXEC(cudnnSetStream, stream);\n'
        f"  DNN(SetActivationDescriptor, {ARGUMENTS});\n}}\n"
    )  # fmt: skip
    report = migrate.check([tmp_path])
    assert [(c.function, c.place.line, c.text) for c in report.calls] == [
        ("cudnnSetStream", 3, "cudnnSetStream(context().handle(), stream)"),
        (SET, 4, f"{SET}({ARGUMENTS})"),
    ]


@pytest.mark.parametrize(
    "text", ["LOAD_SYMBOL(cudnnGetVersion);", "bind(cudnnDestroy, h);", "std::unique_ptr<D, F> p(d, cudnnDestroy);"]
)
def test_a_function_that_is_kept_is_not_called(text):
    assert not migrate.check_text(f"void f(cudnnHandle_t h) {{ {text} }}").calls


def test_a_macro_may_hold_bytes_that_are_no_text():
    text = b"#define A(f, x) f(x)\n#define B(f, x) \xd5(f) A(f, x)\nvoid g(cudnnHandle_t h) { A(cudnnDestroy, h); }\n"
    assert [function.name for function in read(text, "a.cu").functions] == ["g"]


def test_what_stands_behind_a_list_keeps_its_place():
    code = (
        b"#define L(X) X(A, 1) X(B, 2)\n#define E(n, v) n = v,\n"
        b"enum K { L(E) C }; void f(cudnnHandle_t h) { cudnnDestroy(h); }\n"
    )
    unit = read(code, "net.cu")
    (function,) = unit.functions
    (enumerators,) = [[v for v in unit.variables if v.name in ("A", "B", "C")]]
    assert code[function.span.start : function.span.end] == b"void f(cudnnHandle_t h) { cudnnDestroy(h); }"
    assert (function.span.line, function.span.column) == (3, 20)
    assert [code[v.span.start : v.span.end] for v in enumerators] == [b"L(E)", b"L(E)", b"C"]
    assert [getattr(v.value, "value", None) for v in enumerators[:2]] == [1, 2]
