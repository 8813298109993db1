"""A program as the checker follows it: what is left of a source in C, C++, CUDA or Python once syntax is gone.

Readers of languages make units of it (``cpp``, ``python``); the interpreter walks it (``interpret``).
Whatever a reader does not understand becomes :class:`Unclear` around the expressions inside, so that no call is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Union

from .nearby import Nearby


class Span(NamedTuple):
    """Where something stands in its file: byte offsets, 1-based line and column (characters) of its start and end.

    `start` is -1 in text that is not in the file as it stands.
    """

    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int


# Expressions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a string, true, false; None for NULL and nullptr. `type` tells float from double."""

    value: int | float | str | bool | None
    span: Span
    type: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, enumerator or function; qualified names as written (``a::b``), ``this`` and ``self`` as ``this``."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Member:
    """``base.name`` or ``base->name``, which are not told apart."""

    base: Expression
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Index:
    """``base[index]``."""

    base: Expression
    index: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with its operands.

    `operator` is as in C; ``"&x"`` and ``"*x"`` are the unary forms of these two, ``"?:"`` has three operands,
    ``"="``, ``"+="`` and so on assign to the first, ``"++"`` and ``"--"`` too; ``"sizeof"`` has the operand or none.
    """

    operator: str
    operands: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion to a type, in any spelling; also ``T(x)`` and ``T{x}`` of the types of C."""

    type: str
    value: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Braces:
    """``{a, b}``: values of an array or of members; `type` of ``T{a, b}``."""

    values: tuple[Expression, ...]
    span: Span
    type: str = ""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of a library's function, of the program's own, of a method (the callee is a :class:`Member`).

    `text` is as written. `new` tells ``new T(...)``, `checked` that a macro or function which handles the status is
    around it, as in ``CUDNN_CALL(cudnnCreate(&h))``: such wrappers are taken off by the reader.
    """

    callee: Expression
    arguments: tuple[Expression, ...]
    span: Span
    text: str = ""
    new: bool = False
    checked: bool = False


@dataclass(frozen=True, slots=True)
class Lambda:
    """An anonymous function; it is followed where it stands, and where it is called.

    The first `parameters` statements of the body declare its parameters.
    """

    body: Block
    span: Span
    parameters: int = 0


@dataclass(frozen=True, slots=True)
class Unclear:
    """What the reader does not understand, and the expressions in it, in order."""

    parts: tuple[Expression, ...]
    span: Span


Expression = Union[Constant, Name, Member, Index, Operation, Cast, Braces, Invocation, Lambda, Unclear]  # noqa: UP007

# Statements -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Declare:
    """A variable. `array` are the sizes of ``T x[4]``; a constructor's arguments are `arguments` (``T x(a, b)``)."""

    name: str
    type: str
    value: Expression | None
    span: Span
    array: tuple[Expression | None, ...] = ()
    arguments: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An expression for its effects."""

    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Block:
    """Statements in order."""

    statements: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class If:
    """A choice by a value at run time."""

    condition: Expression
    then: Block
    otherwise: Block | None
    span: Span


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Branches of the preprocessor that are all possible: each its conditions, in words, and its statements.

    Where one has to hold (there is an ``#else``) `complete` is true.
    """

    branches: tuple[tuple[str, Block], ...]
    complete: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Loop:
    """``for``, ``while`` and ``do``; a ``for`` over a range has `variable` and `values`.

    `once`: the body runs at least once.
    """

    body: Block
    span: Span
    start: Block | None = None
    condition: Expression | None = None
    step: Expression | None = None
    variable: str = ""
    values: Expression | None = None
    once: bool = False


@dataclass(frozen=True, slots=True)
class Switch:
    """``switch``: cases in order, each the values that lead there (none: default).

    Each falls through without a :class:`Jump`.
    """

    value: Expression
    cases: tuple[tuple[tuple[Expression, ...], Block], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Jump:
    """``return`` (with its value), ``break``, ``continue``, ``throw``, ``goto``."""

    kind: Literal["return", "break", "continue", "throw", "goto"]
    value: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class Try:
    """A block and its handlers."""

    body: Block
    handlers: tuple[Block, ...]
    span: Span


Statement = Union[Declare, Evaluate, Block, If, Alternatives, Loop, Switch, Jump, Try]  # noqa: UP007

# Declarations ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the program's own function; `reference` where the caller's variable is meant (``T&``, ``T&&``)."""

    name: str
    type: str
    default: Expression | None = None
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method with a body.

    `owner` is the class, "" of free functions; `name` is without it. `kind` tells constructors and destructors;
    `initializers` are a constructor's, members and bases with their arguments. `condition` is what the preprocessor
    asks for it.
    """

    name: str
    owner: str
    parameters: tuple[Parameter, ...]
    body: Block
    span: Span
    kind: Literal["function", "method", "constructor", "destructor"] = "function"
    initializers: tuple[tuple[str, tuple[Expression, ...], Span], ...] = ()
    static: bool = False
    condition: str = ""
    calls: frozenset[str] = frozenset()  # names of everything called in it, without qualification
    specialization: str = ""  # the template's arguments, as in ``template <> int f<double>()``
    of: str = ""  # those of the class, as in ``template <> int A<double>::f()``
    macro: bool = False
    template: tuple[str, ...] = ()  # the template's parameters: ``typename T``
    returns: str = ""


@dataclass(frozen=True, slots=True)
class Class:
    """A class or struct: its bases and data members. Methods are the unit's functions with this `owner`."""

    name: str
    bases: tuple[str, ...]
    members: tuple[Declare, ...]
    span: Span
    union: bool = False
    template: tuple[str, ...] = ()  # the template's parameters: ``typename T``
    constructed: bool = False  # constructors are declared: braces are no list of its members


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not read, and why: a file, or a part of one."""

    file: str
    reason: str
    line: int = 0


@dataclass(frozen=True)
class Around:
    """What all files of a program declare, by names without qualification.

    `returned` is what functions return where all of a name return the same, or results of Find; `templates` are the
    parameters of those that are templates. Of `aliases` (each a file and a type) and `variables` there are those that
    name results of Find.
    `frontend` are the files whose includes lead to cudnn_frontend, `notes` its heuristics and notes that variables,
    members and callers of functions (``f()``) name.
    """

    classes: Mapping[str, Class] = field(default_factory=dict)
    returned: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, frozenset[str]] = field(default_factory=dict)
    aliases: Mapping[str, Nearby[tuple[str, str]]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    frontend: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Unit:
    """A source file.

    Attributes
    ----------
    file : str
        As it is shown to the user.
    language : {"c++", "python"}
    lines : int
        How many it has.
    functions, classes : list
        All with a body.
    variables : list of Declare
        Of the file and of namespaces, also constants, constexpr, and macros that are one expression (type
        ``"#define"``). Those of classes, static members and enumerators, carry the class's name: ``A::count``.
    defaults : list of (str, str, tuple of Parameter)
        Declarations without a body that have default arguments: the class, the name, the parameters.
    aliases : dict of str to str
        typedef, using and macros that are another name for a type, function or enumerator.
    seconds : dict of str to str
        Of macros that name a function of cuDNN in some builds and one of MIOpen in others, the latter.
    includes : list of str
        As written.
    mentions : list of (str, Span, str)
        Every place where a function of cuDNN or MIOpen is called by its syntax, with the call's text: those that
        following the program does not reach are reported from here.
    named : frozenset of str
        Functions of the libraries that are named in the code, called or not, as those that pointers point to.
    skipped : list of Skipped
        Parts that could not be read.
    left_out : frozenset of str
        Names in those functions that were not read, because nothing in the file links them to a library. Where one of
        them is bound to a library elsewhere, the file is to be read with it in `names`.
    unread : frozenset of str
        Names of those functions.
    handed : frozenset of str
        Macros and functions that are given a library's function.
    asked : frozenset of str
        Those, and all that is called in capitals: if another file defines such a macro, this one is read with it.
    suppressions : dict of int to frozenset of str
        Lines whose findings a comment silences (``portadnn: ignore[S01, V10]``), and the rules; empty: all.
    """

    file: str
    language: Literal["c++", "python"] = "c++"
    lines: int = 0
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    variables: list[Declare] = field(default_factory=list)
    defaults: list[tuple[str, str, tuple[Parameter, ...]]] = field(default_factory=list)
    prototypes: list[tuple[str, str]] = field(default_factory=list)  # functions that return pointers, with the types
    aliases: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, str] = field(default_factory=dict)
    includes: list[str] = field(default_factory=list)
    mentions: list[tuple[str, Span, str]] = field(default_factory=list)
    named: frozenset[str] = frozenset()
    skipped: list[Skipped] = field(default_factory=list)
    left_out: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    handed: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    suppressions: dict[int, frozenset[str]] = field(default_factory=dict)
    chosen: frozenset[str] = frozenset()  # enumerators of cuDNN that templates, or macros in capitals, are given
    numbers: frozenset[tuple[str, str]] = frozenset()  # names for float or double, where some stand for double
    doubled: frozenset[str] = frozenset()  # templates given double, ``M(X)`` of macros, ``M()`` of those that do it
    halved: frozenset[str] = frozenset()  # templates with the type of half precision that they are given
    floated: frozenset[str] = frozenset()  # class templates that are instantiated for float
    around: Around = field(default_factory=Around, repr=False, compare=False)
