"""Reads Python that calls cuDNN or MIOpen by the names of C: portadnn's vocabularies, other wrappers, ctypes."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from array import array
from collections.abc import Collection, Iterator

from ..cpp.mentions import suppressions
from ..cpp.text import Text, count_lines
from ..libraries import is_library, named
from ..program import Block, Class, Declare, Function, Skipped, Span, Unit
from .bindings import NAMED, imported, library_name
from .syntax import Translator, names_assigned
from .tables import Tables

MODULE = "(module)"  # what the code of a file outside of functions is called
_FUNCTION = named()
_WORDS = re.compile(rb"[A-Za-z_]\w{3,}")
_RAW = re.compile(rb"\bCDLL\b|\bLoadLibrary\b")


class PythonText(Text):
    """The bytes of a source in Python, with its comments."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._comments = array("I", self._places())
        code = bytearray(raw)
        for comment in self.comments:
            code[comment.start : comment.end] = b" " * (comment.end - comment.start)
        self.code = self.mask = bytes(code)

    def _places(self) -> Iterator[int]:
        """Yield where comments start and end."""
        try:
            for token in tokenize.tokenize(io.BytesIO(self.raw).readline):
                if token.type == tokenize.COMMENT:
                    line, column = token.start
                    start = self.line_start(line) + len(token.line[:column].encode())
                    yield start
                    yield start + len(token.string.encode())
        except (tokenize.TokenError, SyntaxError, ValueError, IndexError):
            pass  # the comments up to there

    def node_span(self, node: ast.expr | ast.stmt) -> Span:
        """Return where a node of the syntax tree stands."""
        start = self.line_start(node.lineno) + node.col_offset
        end = self.line_start(node.end_lineno or node.lineno) + (node.end_col_offset or node.col_offset)
        return self.span(start, end)


def read(text: bytes, file: str, names: Collection[bytes] = ()) -> Unit:
    """Read a source in Python.

    Parameters
    ----------
    text : bytes
        The source.
    file : str
        Its name for the user.
    names : collection of bytes, optional
        Functions and classes that other files bind to a library.

    Returns
    -------
    Unit
        The program in it. What has no valid syntax is entered in ``skipped`` as a whole; of a file that names no
        function of a library and none of `names` only the words are told, as ``left_out``.
    """
    if _FUNCTION.search(text) is None and NAMED.search(text) is None:
        words = frozenset(_WORDS.findall(text))
        if words.isdisjoint(names):
            left_out = frozenset(word.decode() for word in words)
            return Unit(file, "python", count_lines(text), left_out=left_out)
    source = PythonText(text)
    unit = Unit(file, "python", source.lines)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in its strings: not ours to tell
            tree = ast.parse(text)
    except SyntaxError as error:
        unit.skipped.append(Skipped(file, f"no valid Python: {error.msg}", error.lineno or 0))
        return unit
    except (ValueError, RecursionError, MemoryError) as error:
        unit.skipped.append(Skipped(file, f"no valid Python: {error or type(error).__name__}"))
        return unit
    _Reader(source, unit).module(tree)
    unit.suppressions = suppressions(source, unit.mentions)
    return unit


class _Reader:
    """Makes a unit of a syntax tree."""

    def __init__(self, source: PythonText, unit: Unit) -> None:
        self.source = source
        self.unit = unit
        self.modules: set[str] = set()
        self.tables = Tables(ast.Module([], []))
        self.raw = _RAW.search(source.raw) is not None  # C functions called as they are: they return a status

    def module(self, tree: ast.Module) -> None:
        self.tables = Tables(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._mention(node)
        self.unit.mentions.sort(key=lambda mention: mention[1].start)
        end = self.source.span(len(self.source.raw), len(self.source.raw))
        for name in names_assigned(tree.body):
            self.unit.variables.append(Declare(name, "", None, end))
        self._constants(tree.body)
        self._function(MODULE, "", tree.body, end, ast.arguments([], [], None, [], [], None, []), declare=False)
        self._definitions(tree.body, "")

    def _mention(self, node: ast.Call) -> None:
        name = library_name(node.func, self.unit.aliases)
        if is_library(name):
            span = self.source.node_span(node)
            self.unit.mentions.append((name, span, self._text(span)))

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self.modules.add(alias.asname or alias.name.partition(".")[0])
            name = alias.name.rpartition(".")[2]
            if isinstance(node, ast.ImportFrom) and node.module:
                name = imported(node.module, name)
            if (alias.asname or alias.name) != name and "." not in (alias.asname or alias.name):
                self.unit.aliases[alias.asname or alias.name] = name
        if isinstance(node, ast.Import):
            self.unit.includes += [alias.name for alias in node.names]
        elif node.module:
            self.unit.includes.append(node.module)

    def _constants(self, body: list[ast.stmt]) -> None:
        """Give the file's variables their values where they are numbers or names that are set only once."""
        counts: dict[str, int] = {}
        for name in names_assigned(body, every=True):
            counts[name] = counts.get(name, 0) + 1
        values: dict[str, ast.expr] = {}
        for node in body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                values[node.targets[0].id] = node.value
        for i, variable in enumerate(self.unit.variables):
            value = values.get(variable.name)
            if counts.get(variable.name) == 1 and isinstance(value, ast.Constant | ast.Attribute | ast.UnaryOp):
                translated = self._translator().expression(value)
                self.unit.variables[i] = Declare(variable.name, "const", translated, variable.span)

    def _translator(self) -> Translator:
        return Translator(self.source.node_span, self._text, self.modules, self.unit, self.tables, checked=not self.raw)

    def _text(self, span: Span) -> str:
        return self.source.read(span.start, span.end)

    def _definitions(self, body: list[ast.stmt], owner: str) -> None:
        """Enter the functions and classes, those inside others too."""
        waiting: list[tuple[ast.stmt, str]] = [(node, owner) for node in body]
        while waiting:
            node, within = waiting.pop()
            if isinstance(node, ast.ClassDef):
                bases = tuple(ast.unparse(base) for base in node.bases)
                self.unit.classes.append(Class(node.name, bases, (), self.source.node_span(node)))
                waiting += [(inner, node.name) for inner in node.body]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                span = self.source.node_span(node)
                self._function(node.name, within, node.body, span, node.args, decorators=node.decorator_list)
                waiting += [(inner, "") for inner in node.body]
            else:
                waiting += [(inner, within) for inner in ast.iter_child_nodes(node) if isinstance(inner, ast.stmt)]

    def _function(
        self,
        name: str,
        owner: str,
        body: list[ast.stmt],
        span: Span,
        arguments: ast.arguments,
        *,
        declare: bool = True,
        decorators: list[ast.expr] | None = None,
    ) -> None:
        said = {decorator.id for decorator in decorators or () if isinstance(decorator, ast.Name)}
        static = not owner or "staticmethod" in said
        translator = self._translator()
        parameters = translator.parameters(arguments, method=not static)
        outer = {word for node in ast.walk(ast.Module(body, [])) if isinstance(node, ast.Global) for word in node.names}
        known = {parameter.name for parameter in parameters} | outer
        declared = [Declare(local, "", None, span) for local in names_assigned(body) if local not in known]
        block = translator.block(body, span)
        if declare:
            block = Block((*declared, *block.statements), span)
        kind = {"__init__": "constructor", "__del__": "destructor"}.get(name, "method") if owner else "function"
        self.unit.functions.append(
            Function(
                name,
                owner,
                parameters,
                block,
                span,
                kind,  # type: ignore[arg-type]
                static=static and bool(owner),
                calls=frozenset(translator.calls),
            )
        )
