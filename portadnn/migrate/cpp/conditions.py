"""Conditions of the preprocessor: decided, guessed, or open."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .. import versions
from ..names import values_of_cudnn

Verdict = bool | None
_TOKEN = re.compile(
    r"\s+|(?P<number>(?:0[xX][0-9a-fA-F']+|[0-9][0-9']*)[uUlLzZ]*)|(?P<name>[A-Za-z_$]\w*)"
    r"|(?P<operator>&&|\|\||<=|>=|==|!=|<<|>>|[-+*/%<>!~&|^?:(),])|(?P<other>.)",
    re.ASCII | re.DOTALL,
)
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_MOST = 400  # tokens
_DEEPEST = 40

# Names that builds with the libraries define, and those that builds without them, or for other systems, define.
_GPU = re.compile(r"(?:\w*_)?(?:CUDNN|CUDA|GPU|GPUS|MIOPEN|CUDACC|NVCC)(?:_ENABLED|_FOUND|_SUPPORT|_AVAILABLE)?_*\Z")
_AGAINST = re.compile(r"(?:\A|_)(?:NO|CPU|ONLY|WITHOUT|DISABLE|DISABLED|SKIP|NOT)(?:_|\Z)|\ANO|CPU_ONLY")
# Names that only builds without the libraries define.
_OFF = re.compile(r"(?:\w+_)?(?:NO|DISABLE|WITHOUT)_?(?:CUDNN|MIOPEN)\Z|(?:\w+_)?(?:CUDNN|MIOPEN)_(?:DISABLED|OFF)\Z")
# Enumerators, as the mapping table's are: no macros, so that #ifdef never finds them.
_ENUMERATORS = frozenset(("CUDNN_ERRQUERY_RAWCODE", "CUDNN_ERRQUERY_NONBLOCKING", "CUDNN_ERRQUERY_BLOCKING"))
_THERE = frozenset(
    ("__cplusplus", "__GNUC__", "__linux__", "__linux", "linux", "__unix__", "__x86_64__", "__CUDACC__", "__NVCC__")
)
_NOT_THERE = frozenset(
    [
        "_WIN32",
        "WIN32",
        "_WIN64",
        "_MSC_VER",
        "__APPLE__",
        "__MINGW32__",
        "__ANDROID__",
        "ANDROID",
        "__CUDA_ARCH__",
        "SWIG",
        "__INTELLISENSE__",
        "DOXYGEN",
        "__DOXYGEN__",
        "DOXYGEN_SHOULD_SKIP_THIS",
        "__CYGWIN__",
        "__CLING__",
        "__EMSCRIPTEN__",
    ]
)
_NUMBERS = frozenset(
    [
        "CUDNN_VERSION",
        "CUDNN_MAJOR",
        "CUDNN_MINOR",
        "CUDNN_PATCHLEVEL",
        "CUDA_VERSION",
        "CUDART_VERSION",
        "MIOPEN_VERSION",
    ]
)
_AT_LEAST = re.compile(r"\w*CUDNN\w*_(?:MIN|GE|AT_LEAST|PREREQ)\w*\Z|CUDNN_(?:MIN|AT_LEAST|PREREQ)\w*\Z")


@dataclass(frozen=True)
class _Definition:
    parameters: tuple[str, ...] | None
    body: str


class Known:
    """What is known of macros at one point of a file.

    Parameters
    ----------
    cudnn_version : str or None
        Such as ``"7.6"`` or ``"8.9.7"``.
    defines : dict of str to str
        From the compiler's command line: these are certain.
    """

    def __init__(self, cudnn_version: str | None = None, defines: Mapping[str, str] | None = None) -> None:
        self._definitions: dict[str, _Definition | None] = {}
        self._unsure: set[str] = set()
        self._given = {name: _Definition(None, body or "1") for name, body in (defines or {}).items()}
        self.version = None if cudnn_version is None else versions.whole(cudnn_version)

    def define(self, name: str, parameters: tuple[str, ...] | None, body: str, *, sure: bool) -> None:
        """Note a ``#define``; one that is perhaps not reached leaves open what holds."""
        if sure:
            self._definitions[name] = _Definition(parameters, body)
            self._unsure.discard(name)
        else:
            self._unsure.add(name)

    def undefine(self, name: str, *, sure: bool) -> None:
        """Note an ``#undef``."""
        if sure:
            self._definitions[name] = None
            self._unsure.discard(name)
        else:
            self._unsure.add(name)

    def is_defined(self, name: str) -> Verdict:
        """Tell whether a macro is certainly there, certainly not, or perhaps."""
        if name in self._given:
            return True
        if name in self._unsure:
            return None
        if name in self._definitions:
            return self._definitions[name] is not None
        if _is_never_defined(name):
            return False
        return True if self._version_part(name) is not None else None

    def decide(self, condition: str) -> Verdict:
        """Tell what a condition says by what is certain."""
        return self._verdict(condition, guessing=False)

    def guess(self, condition: str) -> Verdict:
        """Tell what it says in a usual build with the libraries."""
        return self._verdict(condition, guessing=True)

    def _verdict(self, condition: str, *, guessing: bool) -> Verdict:
        try:
            value = _Evaluation(self, guessing).value(condition, 0)
        except (_NotUnderstood, ZeroDivisionError, OverflowError, ValueError):
            return None
        return None if value is None else bool(value)

    def _version_part(self, name: str) -> int | None:
        if self.version is None:
            return None
        major, minor, patch = self.version
        number = versions.header_number(self.version)
        parts = {"CUDNN_VERSION": number, "CUDNN_MAJOR": major, "CUDNN_MINOR": minor, "CUDNN_PATCHLEVEL": patch}
        return parts.get(name)


class _NotUnderstood(Exception):
    pass


class _Evaluation:
    def __init__(self, known: Known, guessing: bool) -> None:
        self.known = known
        self.guessing = guessing
        self.tokens: list[str] = []
        self.position = 0
        self.depth = 0

    def value(self, text: str, depth: int) -> int | None:
        """Evaluate an expression; None where it hangs on something that is not known."""
        if depth > _DEEPEST // 4:
            raise _NotUnderstood
        outer = self.tokens, self.position
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _NotUnderstood
        if len(text) > 16 * _MOST:
            raise _NotUnderstood
        self.tokens = [m.group() for m in _TOKEN.finditer(text) if not m.group().isspace()]
        self.position = 0
        if len(self.tokens) > _MOST:
            raise _NotUnderstood
        result = self._choice()
        if self.position != len(self.tokens):
            raise _NotUnderstood
        self.tokens, self.position = outer
        self.depth -= 1
        return result

    def _peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def _take(self, expected: str = "") -> str:
        token = self._peek()
        if not token or (expected and token != expected):
            raise _NotUnderstood
        self.position += 1
        return token

    def _choice(self) -> int | None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _NotUnderstood
        condition = self._binary(0)
        if self._peek() == "?":
            self._take()
            a = self._choice()
            self._take(":")
            b = self._choice()
            condition = (a if a == b else None) if condition is None else a if condition else b
        self.depth -= 1
        return condition

    def _binary(self, level: int) -> int | None:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek() in _LEVELS[level]:
            operator = self._take()
            left = _apply(operator, left, self._binary(level + 1))
        return left

    def _unary(self) -> int | None:
        operators = []
        while self._peek() in ("!", "-", "+", "~") and self._peek():
            operators.append(self._take())
        value = self._primary()
        for operator in reversed(operators):
            if value is not None:
                value = {"!": int(not value), "-": -value, "+": value, "~": ~value}[operator]
        return value

    def _primary(self) -> int | None:
        token = self._take()
        if token == "(":
            value = self._choice()
            self._take(")")
            return value
        if token[0].isdigit():
            digits = token.replace("'", "").rstrip("uUlLzZ")
            octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
            return int(digits, 8 if octal else 0)
        if not (token[0].isalpha() or token[0] in "_$"):
            raise _NotUnderstood
        if token == "defined":
            return self._defined()
        arguments = self._arguments() if self._peek() == "(" else None
        return self._macro(token, arguments)

    def _defined(self) -> int | None:
        brackets = self._peek() == "("
        if brackets:
            self._take()
        name = self._take()
        if brackets:
            self._take(")")
        said = self.known.is_defined(name)
        if said is None and self.guessing:
            said = guess_defined(name)
        return None if said is None else int(said)

    def _arguments(self) -> list[str]:
        self._take("(")
        depth, arguments, current = 0, [], []  # type: int, list[str], list[str]
        while depth or self._peek() != ")":
            token = self._take()
            depth += (token == "(") - (token == ")")
            if token == "," and not depth:
                arguments.append(" ".join(current))
                current = []
            else:
                current.append(token)
        self._take(")")
        return [*arguments, " ".join(current)]

    def _macro(self, name: str, arguments: list[str] | None) -> int | None:
        known = self.known
        part = known._version_part(name)
        if part is not None:
            return part
        given = known._given.get(name)
        definition = given or known._definitions.get(name)
        if definition is not None and (given is not None or name not in known._unsure):
            return self._expanded(definition, arguments)
        if arguments is not None and _AT_LEAST.match(name):
            return self._at_least(arguments)
        if name == "true":
            return 1
        gone = name in known._definitions or _is_never_defined(name)
        if name == "false" or (gone and name not in known._unsure):
            return 0
        if self.guessing and name not in _NUMBERS:
            said = guess_defined(name)
            return None if said is None else int(said)
        return None

    def _expanded(self, definition: _Definition, arguments: list[str] | None) -> int | None:
        body = definition.body
        if definition.parameters is not None:
            if arguments is None or len(arguments) != len(definition.parameters):
                raise _NotUnderstood
            for parameter, argument in zip(definition.parameters, arguments, strict=True):
                body = re.sub(rf"\b{re.escape(parameter)}\b", _verbatim(f"({argument})"), body)
        elif arguments is not None:
            raise _NotUnderstood
        return self.value(body, self.depth // 4 + 1)

    def _at_least(self, arguments: list[str]) -> int | None:
        if self.known.version is None:
            return None
        numbers = [self.value(argument, self.depth // 4 + 1) for argument in arguments]
        if None in numbers:
            return None
        return int(self.known.version[: len(numbers)] >= tuple(n for n in numbers if n is not None))


def _verbatim(text: str) -> Callable[[re.Match[str]], str]:
    return lambda _: text


def _is_never_defined(name: str) -> bool:
    """Tell whether a name is no macro, or one that code with the libraries is never compiled with."""
    return name in _ENUMERATORS or name in values_of_cudnn() or _OFF.match(name) is not None


def guess_defined(name: str) -> Verdict:
    """Tell whether a usual build that uses the libraries defines a name."""
    if name in _NOT_THERE:
        return False
    if name in _THERE or name in _NUMBERS:
        return True
    if _AGAINST.search(name) and re.search(r"CUDNN|CUDA|GPU|CPU|MIOPEN", name):
        return False
    return True if _GPU.match(name) else None


def _apply(operator: str, a: int | None, b: int | None) -> int | None:
    if operator == "&&":
        return 0 if 0 in (a, b) else None if None in (a, b) else 1
    if operator == "||":
        known = [x for x in (a, b) if x is not None]
        return 1 if any(known) else None if None in (a, b) else 0
    if a is None or b is None:
        return None
    if operator in ("<<", ">>") and not 0 <= b < 64:
        raise _NotUnderstood
    if operator in ("/", "%"):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if operator == "/" else a - b * quotient
    return int(_ARITHMETIC[operator](a, b))


_ARITHMETIC: dict[str, Callable[[int, int], int | bool]] = {
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
