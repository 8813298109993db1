"""The reader of C++: what it says of small programs."""

from __future__ import annotations

from portadnn.migrate import cpp
from portadnn.migrate.program import Constant, Declare, Evaluate, Function, Invocation, Member, Name, Unit


def read(code: str, **options: object) -> Unit:
    """Read a piece of a program that is taken for one of cuDNN's."""
    return cpp.read(code.encode(), "a.cpp", **options)  # type: ignore[arg-type]


def body(code: str, **options: object) -> list[object]:
    """Return the statements of a function with this body."""
    unit = read(f"void f() {{ {code} }}", names=[b"f"], **options)
    assert [f.name for f in unit.functions] == ["f"]
    assert not unit.skipped
    return list(unit.functions[0].body.statements)


def call(code: str) -> Invocation:
    """Return the call that a statement is."""
    (statement,) = body(code)
    assert isinstance(statement, Evaluate)
    assert isinstance(statement.expression, Invocation)
    return statement.expression


def function(unit: Unit, name: str) -> Function:
    """Return a function by its name."""
    (found,) = [f for f in unit.functions if f.name == name]
    return found


def test_a_call_has_its_arguments_and_its_place():
    unit = read("// cudnn\nvoid f() {\n  cudnnSetStream(h,\n    s->id);\n}\n")
    (statement,) = unit.functions[0].body.statements
    made = statement.expression
    assert made.callee == Name("cudnnSetStream", made.callee.span)
    assert isinstance(made.arguments[1], Member)
    assert made.arguments[1].name == "id"
    assert made.text == "cudnnSetStream(h,\n    s->id)"
    span = made.span
    assert (span.line, span.column, span.end_line, span.end_column) == (3, 3, 4, 11)
    assert not made.checked
    assert unit.mentions == [("cudnnSetStream", span, made.text)]


def test_wrappers_are_taken_off():
    for wrapped in (
        "CUDNN_CALL(cudnnCreate(&h));",
        "check(cudnnCreate(&h), __FILE__, __LINE__);",
        "detail::check(::cudnnCreate(&h));",
        'CHECK_EQ(cudnnCreate(&h), CUDNN_STATUS_SUCCESS, "no");',
        "CUDNN_CALL(cudnnCreate(&h))\n",
        "this->check(cudnnCreate(&h));",
    ):
        made = call(wrapped)
        assert isinstance(made.callee, Name), wrapped
        assert made.callee.name == "cudnnCreate", wrapped
        assert made.checked, wrapped
    assert not call("cudnnCreate(&h);").checked


def test_literals_have_types():
    made = call('f(1, 1.0f, 1.0, -2.5e3F, 0x10u, 010, 1\'000, true, nullptr, NULL, \'a\', "x" "y");')
    expected = [
        (1, "int"), (1.0, "float"), (1.0, "double"), (-2500.0, "float"), (16, "unsigned int"), (8, "int"),
        (1000, "int"), (True, "bool"), (None, "nullptr_t"), (None, "nullptr_t"), ("a", "char"), ("xy", "const char*"),
    ]  # fmt: skip
    assert [(a.value, a.type) for a in made.arguments if isinstance(a, Constant)] == expected


def test_constants_of_a_file():
    unit = read("#define N 4\n#define T float\nconst int k = 3;\nenum { A, B = 5, C };\nstatic float x[2][3];")
    variables = {v.name: v for v in unit.variables}
    assert list(variables) == ["N", "k", "A", "B", "C", "x"]
    assert variables["N"].type == "#define"
    values = {name: v.value.value for name, v in variables.items() if isinstance(v.value, Constant)}
    assert values == {"N": 4, "k": 3, "A": 0, "B": 5, "C": 6}
    assert len(variables["x"].array) == 2
    assert unit.aliases == {"T": "float"}


def test_methods_know_their_class():
    unit = read(
        "namespace n { struct A : B<int> {"
        "A() : x(1), y{2} {} ~A(); void f(int a = 2); int x, y = 3; cudnnHandle_t h; };"
        "}\n"
        "n::A::~A() {}\ntemplate<class T> void n::A::f(T& a) { g(); }"
    )
    (a,) = unit.classes
    assert (a.name, a.bases) == ("A", ("B",))
    assert [(m.name, m.type) for m in a.members] == [("x", "int"), ("y", "int"), ("h", "cudnnHandle_t")]
    assert [(f.owner, f.name, f.kind) for f in unit.functions] == [
        ("A", "A", "constructor"),
        ("A", "~A", "destructor"),
        ("A", "f", "method"),
    ]
    assert [name for name, _, _ in unit.functions[0].initializers] == ["x", "y"]
    assert unit.functions[2].parameters[0].reference
    assert unit.functions[2].calls == {"g"}
    assert [(owner, name, p[0].name) for owner, name, p in unit.defaults] == [("A", "f", "a")]


def test_variables_with_constructors():
    first, second, third = body("T a(b, c); T d{e}; T g(h(), 2);")
    assert isinstance(first, Declare)
    assert isinstance(second, Declare)
    assert isinstance(third, Declare)
    assert [getattr(a, "name", None) for a in first.arguments] == ["b", "c"]
    assert second.value is not None
    assert len(third.arguments) == 2
