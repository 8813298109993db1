"""What becomes of a call of cuDNN on another library, and the corrected call with the user's own arguments.

The mapping table (``portadnn.mapping``) says which functions stand for each other and how their signatures differ;
``answers.toml`` says the rest: what fills the arguments that MIOpen adds, and what to do where nothing stands for a
function. An entry of it may have

``functions``, ``targets``, ``when``
    what it is for: patterns of names; targets (both of MIOpen's by default); known values of arguments, by parameter,
    ``"!0"`` for any other than 0;
``kind``, ``note``, ``rules``
    what the answer says;
``use``
    the function of MIOpen, or a pattern of it, where the table's row has several;
``rename``
    cuDNN's parameters that MIOpen calls otherwise than the table's row says;
``fill``, ``replace``
    texts of arguments by MIOpen's parameters: where cuDNN has none, and instead of cuDNN's. ``{x}`` stands for the
    user's argument for the parameter x, ``{x|y}`` for the first of two that the call has;
``before``, ``after``
    lines that go around the call;
``call``
    what stands in place of a call, where no function does;
``sure``
    whether the call can stand in the program as it is: by default that of recipes cannot; ``remark``: true where it
    means something else all the same;
``drop``
    true where the call falls away without a trace;
``family``
    true where the functions are not in the mapping table, but known by their names; MIOpen's, if it has any, takes
    the same arguments.

The tables ``cudnn9`` and ``hipdnn`` say what stands for functions in cuDNN 9 and in hipDNN.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from .. import mapping
from .events import Argument, Event
from .findings import Answer
from .names import data, function_offered, in_portadnn, translated, values_of_cudnn
from .values import constants
from .versions import numbers

_PLACEHOLDER = re.compile(r"\{([\w|]+)\}")
_SIMPLE = re.compile(r"[&*]?[\w.:]+(?:(?:->|\.)\w+|\[[^][]*\]|\([^()]*\))*")


@dataclass(frozen=True)
class Answered:
    """What becomes of a call.

    Attributes
    ----------
    kind : {"same", "moves", "recipe", "none"}
        As ``findings.ANSWERS`` explains them.
    call : str
        The corrected call; "" where none stands for it.
    note : str
        What else is to know or to do.
    rules : tuple of str
        The migration rules that it follows.
    function : str
        The function that is called instead; "" where none is.
    arguments : tuple of str
        Its arguments.
    before, after : tuple of str
        Lines around the call.
    sure : bool
        Whether the call can stand in the program as it is.
    remark : bool
        Whether the call means something else, which the note tells.
    falls_away : bool
        Whether nothing is lost without the call.
    """

    kind: Answer
    call: str
    note: str = ""
    rules: tuple[str, ...] = ()
    function: str = ""
    arguments: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    sure: bool = True
    remark: bool = False
    falls_away: bool = False

    @property
    def text(self) -> str:
        """The call with the lines around it."""
        return "\n".join([*self.before, *([self.call + ";"] if self.call else []), *self.after])


def answer(event: Event, target: str = "miopen-3") -> Answered:
    """Return what becomes of a call of cuDNN.

    Parameters
    ----------
    event : Event
        The call.
    target : str
        ``"miopen-1"``, ``"miopen-3"``, ``"hipdnn"``, ``"cudnn-9"``, ``"portadnn-opencl"`` or ``"portadnn-cuda"``.
    """
    if target.startswith("miopen"):
        return Port(event, target).answered
    if target == "cudnn-9":
        return _of_cudnn_9(event)
    if target == "hipdnn":
        return _of_hipdnn(event)
    return _of_portadnn(event)


# MIOpen -----------------------------------------------------------------------------------------------------------


@functools.cache
def _entries(function: str, target: str) -> tuple[Mapping[str, Any], ...]:
    """Return the entries of ``answers.toml`` for a function and a target, whatever its arguments are."""
    return tuple(
        entry
        for entry in data()["answer"]
        if any(fnmatchcase(function, pattern) for pattern in entry["functions"])
        and target in entry.get("targets", ("miopen-1", "miopen-3"))
    )


def of_a_family(function: str) -> bool:
    """Tell whether there are answers for a function that the mapping table does not have."""
    return any(entry.get("family") for entry in _entries(function, "miopen-1"))


class Port:
    """A call on its way to MIOpen."""

    def __init__(self, event: Event, target: str) -> None:
        self.event, self.target = event, target
        self.doubts: list[str] = []  # why the call is not sure
        self.rules: list[str] = []
        self._pairs: dict[str, dict[str, str]] = {}  # of parameters, by the function of MIOpen
        self.entry = next(entry for entry in _entries(event.function, target) if self._fits(entry))
        self.row = mapping.table().by_cudnn.get(event.function)

    @property
    def answered(self) -> Answered:
        """What becomes of it."""
        entry, function = self.entry, self._function()
        if "call" in entry:
            missing = self._without_counterpart(_named([entry["call"]]))
            if missing:
                return self._nothing(missing)
            return self._answer(entry.get("kind", "recipe"), self._filled(entry["call"]), entry.get("note", ""))
        if entry.get("family") and entry.get("kind") != "none":
            return self._answer(entry["kind"], self._alike(), entry["note"])
        if function is None or entry.get("kind") == "none":
            return self._answer("none", "", self._why_not(function))
        arguments = self._arguments(function)
        missing = self._without_counterpart(self._kept(function))
        if missing:
            return self._nothing(missing)
        call = f"{function.name}({', '.join(arguments)})"
        dropped = self._dropped(function)
        note = "; ".join(filter(None, (entry.get("note", ""), f"drops {', '.join(dropped)}" if dropped else "")))
        return self._answer(entry.get("kind") or self._kind(function), call, note, function.name, tuple(arguments))

    def _answer(
        self,
        kind: Answer,
        call: str,
        note: str,
        function: str = "",
        arguments: tuple[str, ...] = (),
    ) -> Answered:
        entry = self.entry
        return Answered(
            kind,
            call,
            "; ".join([self._filled(note, plain=True), *self.doubts]) if note else "; ".join(self.doubts),
            tuple(dict.fromkeys([*entry.get("rules", ()), *self.rules])),
            function,
            arguments,
            tuple(self._filled(line) for line in entry.get("before", ())) if kind != "none" else (),
            tuple(self._filled(line) for line in entry.get("after", ())) if kind != "none" else (),
            sure=entry.get("sure", kind in {"same", "moves"} or "call" in entry) and not self.doubts,
            remark=entry.get("remark", False),
            falls_away=entry.get("drop", False) or entry.get("call") == "",
        )

    def _alike(self) -> str:
        """Return the call of the function that MIOpen names in the same way, with the same arguments."""
        name = re.sub("^cudnn", "miopen", self.event.function)
        if not self.event.arguments and self.event.text:
            given = self.event.text.partition("(")[2].removesuffix(")")
        else:
            given = ", ".join(argument.text for argument in self.event.arguments)
        renamed = re.sub(r"\bCUDNN_(?=(?:ATTR|BACKEND|TYPE)_)", "MIOPEN_", translated(given, self.target)[0])
        return f"{name}({renamed})"

    def _nothing(self, missing: str) -> Answered:
        """Answer that MIOpen lacks the value of an argument."""
        return Answered(
            "none", "", missing, tuple(dict.fromkeys([*self.rules, *self.entry.get("rules", ())])), sure=False
        )

    def _fits(self, entry: Mapping[str, Any]) -> bool:
        return all(_holds(self.event.argument(*p.split("|")), wanted) for p, wanted in entry.get("when", {}).items())

    def _function(self) -> mapping.Function | None:
        """Return the function to call: what the entry names, else the one with the least to fill."""
        offered = [f for f in (self.row.miopen if self.row else ()) if function_offered(f, self.target)]
        wanted = self.entry.get("use")
        if wanted is not None:
            everything = [*offered, *mapping.table().functions.values()]
            return next((f for f in everything if fnmatchcase(f.name, wanted)), None)
        return min(offered, key=lambda f: len(self._added(f)), default=None)

    def _why_not(self, function: mapping.Function | None) -> str:
        if function is None and self.row is not None and self.row.miopen and self.entry.get("kind") != "none":
            return f"{self.row.miopen[0].name} came after MIOpen 1"
        return str(self.entry.get("note", "MIOpen has nothing for it"))

    def _theirs(self, function: mapping.Function) -> dict[str, str]:
        """Return cuDNN's parameters by MIOpen's, for the same argument."""
        if function.name not in self._pairs:
            self._pairs[function.name] = self._paired(function)
        return self._pairs[function.name]

    def _paired(self, function: mapping.Function) -> dict[str, str]:
        renamed = dict(self.row.renamed or {}) if self.row else {}
        renamed.update({ours: (theirs,) for ours, theirs in self.entry.get("rename", {}).items()})
        found: dict[str, str] = {}
        places = {p.name.lower(): p.name for p in function.latest}
        for parameter in self._ours():
            for name in (*renamed.get(parameter, ()), parameter):
                place = places.get(name.lower())
                if place is not None and place not in found:
                    found[place] = parameter
                    break
        return found

    def _ours(self) -> list[str]:
        return [p.name for p in self.event.parameters] or list(self.event.by_name)

    def _added(self, function: mapping.Function) -> list[str]:
        pairs = self._theirs(function)
        return [p.name for p in function.latest if p.name not in pairs]

    def _arguments(self, function: mapping.Function) -> list[str]:
        pairs = self._theirs(function)
        fill, replace = self.entry.get("fill", {}), self.entry.get("replace", {})
        texts = []
        for parameter in function.latest:
            ours = pairs.get(parameter.name)
            if parameter.name in replace:
                texts.append(self._filled(replace[parameter.name]))
            elif ours is not None and ours in self.event.by_name:
                texts.append(self._translated(ours))
            elif parameter.name in fill:
                texts.append(self._filled(fill[parameter.name]))
            else:
                texts.append(parameter.name)
                self.doubts.append(f"{parameter.name} is not known")
        return texts

    def _translated(self, parameter: str) -> str:
        text, doubtful = translated(self.event.by_name[parameter].text, self.target)
        for word, name in doubtful:
            self.doubts.append(f"{word}: {name.note}")
            self.rules += [name.rule] if name.rule else []
        return text

    def _filled(self, template: str, *, plain: bool = False) -> str:
        """Return a template with the user's arguments in it, in MIOpen's names unless it is `plain` text."""

        def one(match: re.Match[str]) -> str:
            names = match[1].split("|")
            given = next((name for name in names if name in self.event.by_name), None)
            if given is None:
                return names[0]
            if plain:
                return self.event.by_name[given].text
            text = translated(self.event.by_name[given].text, self.target)[0]
            return text if match[0] == template or _SIMPLE.fullmatch(text) else f"({text})"

        return _PLACEHOLDER.sub(one, template).replace("{{", "{").replace("}}", "}")

    def _without_counterpart(self, names: set[str]) -> str:
        """Return which value of these parameters MIOpen does not have; "" if none."""
        for given in filter(None, (self.event.argument(name) for name in self._ours() if name in names)):
            for value in constants(given.read):
                if (
                    not isinstance(value, str)
                    or value not in values_of_cudnn()
                    or value.startswith("CUDNN_CONVOLUTION")
                ):
                    continue
                doubtful = translated(value, self.target)[1]
                if doubtful and doubtful[0][1].miopen is None:
                    self.rules += [doubtful[0][1].rule] if doubtful[0][1].rule else []
                    return f"{value}: {doubtful[0][1].note}"
        return ""

    def _kept(self, function: mapping.Function) -> set[str]:
        """Return the parameters whose values MIOpen is given."""
        return {our for their, our in self._theirs(function).items() if their not in self.entry.get("replace", {})}

    def _dropped(self, function: mapping.Function) -> list[str]:
        texts = [text for part in ("fill", "replace") for text in self.entry.get(part, {}).values()]
        texts += [*self.entry.get("before", ()), *self.entry.get("after", ())]
        used = set(self._theirs(function).values()) | _named(texts)
        given = self.event.by_name
        return [f"{name} ({given[name].text})" for name in self._ours() if name not in used and name in given]

    def _kind(self, function: mapping.Function) -> Answer:
        if self.entry.get("before") or self.entry.get("after") or self.doubts:
            return "recipe"
        ours, pairs = self._ours(), self._theirs(function)
        if self.entry.get("replace") or self._dropped(function) or self._added(function):
            return "moves"
        return "same" if [pairs[p.name] for p in function.latest] == ours else "moves"


def _named(templates: Iterable[str]) -> set[str]:
    """Return the parameters that templates name."""
    return {name for text in templates for group in _PLACEHOLDER.findall(text) for name in group.split("|")}


def _holds(argument: Argument | None, wanted: Sequence[Any]) -> bool:
    """Tell whether an argument is certainly among some values, or possibly another than one of them (``"!0"``)."""
    if argument is None:
        return False
    known = told(argument)
    if isinstance(wanted[0], str) and wanted[0].startswith("!"):
        numbers = [v for v in known if isinstance(v, (int, float)) and not isinstance(v, bool)]
        return any(float(number) != float(wanted[0][1:]) for number in numbers)
    whole = len(known) == max(len(argument.read.options), 1)
    return whole and bool(known) and all(any(_same(value, w) for w in wanted) for value in known)


def told(argument: Argument) -> list[Any]:
    """Return the constants that an argument, or what it points to, may be.

    Where nothing is known, names count: ``CUDNN_TENSOR_NCHW``, ``&traits<float>::zero``.
    """
    known = list(constants(argument.read))
    if known or argument.text in values_of_cudnn():
        return known or [argument.text]
    words = re.findall(r"\w+", argument.text)
    name = words[-1].strip("_").lower().removeprefix("k") if words else ""
    return [{"zero": 0, "one": 1}[name]] if name in {"zero", "one"} else []


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, str):
        return isinstance(value, str) and fnmatchcase(value, wanted)
    return isinstance(value, (int, float)) and float(value) == float(wanted)


# The others -------------------------------------------------------------------------------------------------------


def _of_cudnn_9(event: Event) -> Answered:
    table, name = mapping.table(), event.function
    known, replaced = table.functions.get(name), data()["cudnn9"].get(name)
    if known is None:
        return Answered("same", event.text or _written(name, [a.text for a in event.arguments]), function=name)
    gone = numbers(known.headers[1]) < (9,)
    if gone and replaced is None:
        return Answered("none", "", "cuDNN 9 has nothing for it", ("S26",), sure=False)
    function = table.functions[replaced] if gone else known
    texts, missing = _by_name(event, function)
    if not gone and not missing and len(texts) == len(event.arguments):
        return Answered("same", _written(name, texts), function=name, arguments=tuple(texts))
    said = [f"cuDNN 9 has {function.name} in its place"] if gone else [f"{name} takes other arguments since"]
    said += [f"{', '.join(missing)}: not known here"] if missing else []
    call = _written(function.name, texts)
    kind: Answer = "recipe" if missing else "moves"
    return Answered(kind, call, "; ".join(said), ("S26",), function.name, tuple(texts), sure=not missing)


def _by_name(event: Event, function: mapping.Function) -> tuple[list[str], list[str]]:
    """Return the arguments in the order of another function of cuDNN, and the parameters that have none."""
    given = {p.lower(): a.text for p, a in event.by_name.items()}
    given |= {new: given[old] for new, old in _OLDER.items() if old in given and new not in given}
    texts, missing = [], []
    for parameter in function.latest:
        default = _DEFAULTS.get(parameter.name) if parameter.direction == "in" else None
        text = given.get(parameter.name.lower(), default)
        texts.append(parameter.name if text is None else text)
        missing += [parameter.name] if text is None else []
    return texts, missing


_OLDER = {"dilation_h": "upscalex", "dilation_w": "upscaley", "dilationa": "upscalea", "coef": "reluceiling"}
_OLDER |= {"computetype": "datatype", "srcdesc": "xdesc", "filterdesc": "wdesc", "destdesc": "ydesc"}
_OLDER |= {"diffdesc": "dydesc", "graddesc": "dxdesc"}
_DEFAULTS = {
    "computeType": "CUDNN_DATA_FLOAT",
    "format": "CUDNN_TENSOR_NCHW",
    "maxpoolingNanOpt": "CUDNN_NOT_PROPAGATE_NAN",
}


def _written(name: str, arguments: Sequence[str]) -> str:
    return f"{name}({', '.join(arguments)})"


def _of_hipdnn(event: Event) -> Answered:
    """Answer for hipDNN, which has graphs alone."""
    said = hipdnn_entry(event.function)
    if said is None:
        return Answered("none", "", "hipDNN has nothing for it", sure=False)
    note = said.get("note", "")
    if "name" in said:
        name = said["name"] + event.function.removeprefix("cudnn")
        return Answered("same" if not note else "moves", _written(name, [a.text for a in event.arguments]), note)
    if "nodes" in said:
        calls = tuple(f"graph.{node.partition(' ')[0]}(...);" for node in said["nodes"])
        nodes = "a graph of " + ", ".join(said["nodes"])
        return Answered("recipe", "", "; ".join(filter(None, (nodes, note))), before=calls, sure=False)
    return Answered("moves", "", note, sure=False)


@functools.cache
def hipdnn_entry(function: str) -> Mapping[str, Any] | None:
    """Return what ``answers.toml`` says of a plain function on hipDNN; None where there is nothing."""
    entries = data()["hipdnn"]
    return next((one for one in entries if any(fnmatchcase(function, name) for name in one["functions"])), None)


def _of_portadnn(event: Event) -> Answered:
    """Answer for ``portadnn.cudnn``, which has cuDNN's functions; what C returns through pointers is returned there."""
    from .. import cudnn
    from ..c_names.refused import reason

    function = getattr(cudnn, event.function, None)
    if function is None:
        return Answered("none", "", "portadnn has nothing for it", sure=False)
    if not in_portadnn(event.function):
        return Answered("none", "", reason(event.function), sure=False)
    taken = [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    ours = event.declared.parameters if event.declared else ()
    arguments, results = [], []
    for first, parameter in zip(ours, event.parameters, strict=False):
        given = event.argument(parameter.name)
        text = parameter.name if given is None else given.text.removeprefix("&")
        if first.name in taken or parameter.name in taken:
            arguments.append(text)
        elif parameter.direction == "out":
            results.append(text)
    call = f"cudnn.{_written(event.function, arguments)}"
    if results:
        return Answered("moves", f"{', '.join(results)} = {call}", "what C returns through pointers is returned")
    return Answered("same", call)
