"""Paths through programs: loops, switches, versions, memory, threads; and programs that make following hard."""

from __future__ import annotations

import time

import pytest
from following import Seen, call, calls, follow, follow_units

from portadnn.migrate import cpp, interpret
from portadnn.migrate.versions import demanded


def program(body: str, before: str = "") -> str:
    return f"#include <cudnn.h>\n{before}\nvoid program(cudnnHandle_t handle, int runtime) {{\n{body}\n}}\n"


SET = "cudnnSetTensor4dDescriptor({0}, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, {1}, 1, 1, 1);\n"


def sizes(seen: list[Seen]) -> list[object]:
    return [one.constant("n") for one in seen if one.event.function == "cudnnSetTensor4dDescriptor"]


# Loops and branches ---------------------------------------------------------------------------------------------


def test_loops_of_few_turns_are_followed_turn_by_turn() -> None:
    seen = follow(
        program("cudnnTensorDescriptor_t x[3]; for (int i = 0; i < 3; i++) {" + SET.format("x[i]", "4 * i") + "}")
    )
    assert sizes(seen) == [0, 4, 8]
    assert len({one.thing("tensorDesc").id for one in seen}) == 3
    assert all(one.event.in_loop for one in seen)


def test_elements_are_one_thing_within_a_turn_and_stand_for_several() -> None:
    body = (
        "cudnnTensorDescriptor_t x[100];"
        "for (int i = 0; i < runtime; i++) cudnnCreateTensorDescriptor(&x[i]);"
        "for (int k = 0; k < runtime; k++) {" + SET.format("x[k]", "k") + " cudnnDestroyTensorDescriptor(x[k]); }"
    )
    destroy = calls("cudnnDestroyTensorDescriptor", program(body))[0]
    one = destroy.thing("tensorDesc")
    assert one.many
    assert one.created is not None
    assert one.set_by[-1] == destroy.event.number - 1
    assert True in destroy.earlier("cudnnCreateTensorDescriptor").values()


def test_the_second_turn_sees_the_first() -> None:
    body = (
        "cudnnTensorDescriptor_t x; while (more()) {"
        + SET.format("x", "1")
        + "size_t b; cudnnGetTensorSizeInBytes(x, &b); }"
    )
    set_one, get_one, set_two, get_two = follow(program(body))
    assert set_one.earlier("cudnnGetTensorSizeInBytes") == {}
    assert set_two.earlier("cudnnGetTensorSizeInBytes") == {get_one.event.number: True}
    assert set_two.thing("tensorDesc").set_by == (set_one.event.number,)
    assert get_two.event.place == get_one.event.place


@pytest.mark.parametrize(
    ("loop", "always"),
    [
        ("while (more()) { %s }", False),
        ("do { %s } while (more());", True),
        ("for (int i = 0; i < 2; i++) { %s }", True),
        ("for (int i = 0; i < 0; i++) { %s }", None),
        ("if (runtime) { %s }", False),
        ("if (runtime) { %s } else { %s }", None),
        ("switch (runtime) { case 1: %s break; default: break; }", False),
        ("try { %s } catch (...) { }", False),
        ("{ %s }", True),
        ("if (!handle) return; %s", True),
        ("auto f = [&]() { %s }; f();", True),
    ],
)
def test_what_was_done_before_and_whether_always(loop: str, always: bool | None) -> None:
    body = "cudnnTensorDescriptor_t x; " + loop.replace("%s", SET.format("x", "1")) + " cudnnCreate(&handle);"
    seen = call("cudnnCreate", program(body))
    done = seen.earlier("cudnnSetTensor4dDescriptor")
    if always is None:
        assert not any(done.values())
    else:
        assert any(done.values()) is always
        assert done


def test_numbers_that_loops_change_are_not_known_behind_them() -> None:
    seen = follow(program("int n = 1; cudnnTensorDescriptor_t x; while (more()) { n *= 2; }" + SET.format("x", "n")))
    assert sizes(seen) == [None]


def test_conditions_tell_what_variables_are() -> None:
    assert sizes(
        follow(program("cudnnTensorDescriptor_t x; if (runtime == 5) {" + SET.format("x", "runtime") + "}"))
    ) == [5]
    body = "cudnnTensorDescriptor_t x; switch (runtime) { case 2: " + SET.format("x", "runtime") + "break; case 3: "
    assert sizes(follow(program(body + SET.format("x", "runtime") + "}"))) == [2, 3]


def test_after_a_goto_the_label_is_reached() -> None:
    body = "cudnnTensorDescriptor_t x; if (runtime) goto error; return; error: " + SET.format("x", "1")
    (seen,) = follow(program(body))
    assert seen.event.within == "program"


def test_ranges() -> None:
    body = "std::vector<int> v = {3, 4}; cudnnTensorDescriptor_t x; for (int n : v) {" + SET.format("x", "n") + "}"
    assert sizes(follow(program(body, "#include <vector>"))) == [3, 4]
    body = (
        "std::vector<cudnnTensorDescriptor_t> all; for (int i = 0; i < runtime; i++) { cudnnTensorDescriptor_t d;"
        "cudnnCreateTensorDescriptor(&d); all.push_back(d); } for (auto& d : all) cudnnDestroyTensorDescriptor(d);"
    )
    destroy = calls("cudnnDestroyTensorDescriptor", program(body, "#include <vector>"))[0]
    assert destroy.thing("tensorDesc").created is not None
    assert destroy.thing("tensorDesc").many


def test_what_callers_do_not_lead_to_is_followed_by_itself() -> None:
    source = """
    #include <cudnn.h>
    void f(int kind, cudnnTensorDescriptor_t x) {
      if (kind == 1) { cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 8, 1, 1, 1); return; }
      cudnnDestroyTensorDescriptor(x);
    }
    void g(cudnnTensorDescriptor_t x) { f(1, x); }
    """
    (destroy,) = calls("cudnnDestroyTensorDescriptor", source)
    assert destroy.event.within == "f"
    assert destroy.thing("tensorDesc").id.startswith("x#")


# Versions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "version"),
    [
        ("CUDNN_VERSION >= 7000", "7.0.0"),
        ("!(CUDNN_VERSION >= 7000)", "6.9"),
        ("CUDNN_VERSION < 7605", "7.6.4"),
        ("CUDNN_MAJOR > 5", "6.0.0"),
        ("CUDNN_MAJOR >= 8", "8.0.0"),
        ("!(CUDNN_MAJOR > 5)", "5.0.0"),
        ("CUDNN_VERSION >= 90100", "9.1.0"),
        ("CUDNN_VERSION < 90000", "8.9"),
        ("CUDNN_VERSION < 7100", "7.0.99"),
        ("CUDNN_VERSION_MIN(9, 10, 0)", "9.10.0"),
        ("CUDNN_VERSION_MIN(5, 1, 3)", "5.1.3"),
        ("!(CUDNN_VERSION_MIN(5, 0, 0))", "4.9"),
        ("defined(USE_CUDNN)", None),
        ("CUDA_VERSION >= 7000", None),
    ],
)
def test_versions_of_branches(condition: str, version: str | None) -> None:
    assert demanded(condition) == version


def test_both_branches_of_the_preprocessor_are_followed() -> None:
    source = program(
        "cudnnConvolutionDescriptor_t c;\n#if CUDNN_VERSION >= 6000\n"
        "cudnnSetConvolution2dDescriptor(c, 1, 1, 1, 1, 1, 1, CUDNN_CONVOLUTION, CUDNN_DATA_FLOAT);\n#else\n"
        "cudnnSetConvolution2dDescriptor(c, 1, 1, 1, 1, 1, 1, CUDNN_CONVOLUTION);\n#endif\n"
        "cudnnDestroyConvolutionDescriptor(c);"
    )
    new, old, destroy = follow(source)
    assert (new.event.version, old.event.version, destroy.event.version) == ("6.0.0", "5.9", None)
    assert destroy.constant("convDesc.mode") == "CUDNN_CONVOLUTION"
    assert destroy.thing("convDesc").certain
    assert list(destroy.earlier("cudnnSetConvolution2dDescriptor").values()) == [False, False]


# Memory, origins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "allocate",
    [
        "void* ws; cudaMalloc(&ws, size);",
        "float* ws; cudaMalloc((void**)&ws, size);",
        "void* ws = nullptr; if (size > 0) hipMalloc(&ws, size);",
        "void* ws = malloc(size + 16);",
        "size_t most = std::max(size, other); void* ws; CHECK(cudaMalloc(&ws, most));",
        "void* ws; allocate_for_me(&ws, size);",
    ],
)
def test_workspaces_come_from_queries(allocate: str) -> None:
    body = (
        "size_t size = 0; cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, c, y, algo, &size);"
        + allocate
        + "cudnnConvolutionForward(handle, &alpha, x, a, w, b, c, algo, ws, size, &beta, y, d);"
    )
    query, forward = follow(program(body))
    assert forward.value("workSpaceSizeInBytes").origins == (query.event.number,)
    if "for_me" not in allocate:
        memory = next(option for option in forward.value("workSpace").options if option.kind == "thing")
        assert forward.state.things[memory.data].fields["size"].origins == (query.event.number,)


def test_scalars_behind_pointers_have_their_types() -> None:
    body = "double one = 1; float zero = 0;cudnnAddTensor(handle, &one, x, a, &zero, y, b);"
    seen = call("cudnnAddTensor", program(body))
    alpha, beta = seen.value("alpha"), seen.value("beta")
    assert (alpha.data, alpha.type, beta.data, beta.type) == (1.0, "double", 0.0, "float")


def test_arrays_are_passed_whole() -> None:
    body = (
        "int dims[] = {2, 3, 4, 5}; std::vector<int> strides = {60, 20, 5, 1}; cudnnTensorDescriptor_t x;"
        "cudnnSetTensorNdDescriptor(x, CUDNN_DATA_FLOAT, 4, dims, strides.data()); size_t b;"
        "cudnnGetTensorSizeInBytes(x, &b);"
    )
    seen = call("cudnnGetTensorSizeInBytes", program(body, "#include <vector>"))
    assert (seen.constant("tensorDesc.dimA"), seen.constant("tensorDesc.strideA")) == ([2, 3, 4, 5], [60, 20, 5, 1])


def test_unknown_functions_may_change_what_they_get() -> None:
    def after(use: str) -> bool:
        body = "cudnnTensorDescriptor_t x; cudnnCreateTensorDescriptor(&x);" + SET.format("x", "1") + use
        return (
            call("cudnnDestroyTensorDescriptor", program(body + "cudnnDestroyTensorDescriptor(x);"))
            .thing("tensorDesc")
            .certain
        )

    assert after("")
    assert after("print_size(x);")
    assert not after("configure(x);")
    assert not after("configure(&x);")


# Threads, places ------------------------------------------------------------------------------------------------


def test_threads() -> None:
    source = """
    #include <cudnn.h>
    #include <thread>
    static cudnnHandle_t handle;
    void worker(int n) { cudnnSetStream(handle, 0); }
    int main() { cudnnCreate(&handle); std::thread t(worker, 3); t.join(); cudnnDestroy(handle); }
    """
    assert [(one.event.function, one.event.thread) for one in follow(source)] == [
        ("cudnnCreate", "main"), ("cudnnSetStream", "worker"), ("cudnnDestroy", "main")]  # fmt: skip


def test_places_are_where_the_text_is() -> None:
    source = program("/* ä */ int ö; cudnnCreate( &handle );")
    (seen,) = follow(source)
    place = seen.event.place
    assert source.encode()[place.start : place.end].decode() == "cudnnCreate( &handle )"
    assert source.splitlines()[place.line - 1][place.column - 1 :].startswith("cudnnCreate")
    argument = seen.event.arguments[0]
    assert argument.text == "&handle"
    assert argument.place is not None
    assert source.encode()[argument.place.start : argument.place.end] == b"&handle"


# What is hard to follow -----------------------------------------------------------------------------------------


def _deep(depth: int) -> str:
    return "if (a) {" * depth + "cudnnCreate(&h);" + "}" * depth


HARD = {
    "recursion": "void f(int n) { cudnnCreate(&h); if (n) f(n - 1); g(); } void g() { f(1); }",
    "own type": "struct A { A* next; cudnnHandle_t h; }; void f(A* a) { cudnnCreate(&a->next->next->h); }",
    "own base": "struct A : A { A a; A() : a() { cudnnCreate(&h); } cudnnHandle_t h; }; void f() { A x; }",
    "own constant": "const int N = N + 1; void f() { cudnnCreate(&h[N]); }",
    "own alias": "#define a b\n#define b a\nvoid f() { a x; cudnnCreate(&h); }",
    "deep": f"void f() {{ {_deep(150)} }}",
    "deep sum": f"void f() {{ int n = {'+'.join('1' * 3000)}; cudnnCreate(&h[n]); }}",
    "brackets": f"void f() {{ cudnnCreate({'(' * 300}&h{')' * 300}); }}",
    "else if": "void f() {" + "else ".join(f"if (a == {i}) {{ b = {i}; }}" for i in range(700)) + " cudnnCreate(&h); }",
    "outside of functions": "cudnnStatus_t status = cudnnCreate(&h);",
    "macro": "#define MAKE(x) cudnnCreate(x)\nvoid f() { MAKE(&h); }",
    "broken": "void f() { cudnnCreate(&h); } } } class { void g( { cudnnDestroy(h);",
    "many branches": "void f() { int x = 0;" + "if (g()) x++; cudnnCreate(&h);" * 300 + "}",
    "many calls": "void g(int n) { cudnnCreate(&h); }\nvoid f() {" + "g(1);" * 3000 + "}",
    "many names": "void f() { float " + ", ".join(f"*a{i}" for i in range(10_000)) + "; cudnnCreate(&h); }",
    "many members": "struct A { int "
    + ", ".join(f"a{i} = {i}" for i in range(20_000))
    + "; void f() { cudnnCreate(&h); } };",
    "nested loops": "void f() {" + "for (int i = 0; i < n; i++) {" * 20 + "cudnnCreate(&h);" + "}" * 21,
}


@pytest.mark.parametrize("name", HARD)
def test_every_call_is_told_of_whatever_the_program(name: str) -> None:
    began = time.process_time()
    unit = cpp.read(HARD[name].encode(), "hard.cpp")
    seen = follow_units([unit])
    assert time.process_time() - began < 5
    told = {(one.event.function, one.event.place.line, one.event.place.column) for one in seen}
    assert told >= {(function, span.line, span.column) for function, span, _ in unit.mentions} != set()


def test_the_numbers_of_calls_are_the_same_each_time() -> None:
    source = HARD["recursion"] + HARD["many branches"].replace("void f", "void k")
    first, second = follow(source), follow(source)
    assert [repr(one) for one in first] == [repr(one) for one in second]
    assert [one.event.number for one in first] == list(range(1, len(first) + 1))


def test_a_failure_while_following_one_function_leaves_the_others() -> None:
    class Failing:
        def __init__(self) -> None:
            self.seen: list[str] = []

        def call(self, event, state, journal) -> None:
            self.seen.append(event.within)
            if event.within == "broken":
                raise KeyError("broken")

        def finish(self, state, journal) -> None:
            self.seen.append("end")

    bodies = (f"void {name}(cudnnHandle_t h) {{ cudnnDestroy(h); }}\n" for name in ("broken", "whole"))
    unit = cpp.read("".join(["#include <cudnn.h>\n", *bodies]).encode(), "file.cu")
    listener = Failing()
    interpret.follow([unit], [listener])
    assert listener.seen[-1] == "end" and "whole" in listener.seen
    assert [(one.line, "KeyError" in one.reason) for one in unit.skipped] == [(2, True)]
