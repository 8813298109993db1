"""Programs followed for tests: their calls, and what was known of each."""

from __future__ import annotations

from portadnn.migrate import cpp, interpret
from portadnn.migrate.events import Event
from portadnn.migrate.model.state import Deed, State, Thing
from portadnn.migrate.program import Unit
from portadnn.migrate.values import UNKNOWN, Value


class Seen:
    """A call as a listener saw it."""

    def __init__(self, event: Event, state: State, journal: dict[int, Deed]) -> None:
        self.event = event
        self.state = state.copy()
        self.journal = dict(journal)

    def __repr__(self) -> str:
        return f"{self.event.number}: {self.event.text}"

    def value(self, name: str) -> Value:
        """What an argument says, or what it points to."""
        argument = self.event.argument(name)
        assert argument is not None, f"{self.event.function} has no argument {name}"
        return argument.read

    def thing(self, name: str) -> Thing:
        """The thing that an argument refers to."""
        value = self.value(name)
        assert value.kind == "thing", f"{name} of {self} is {value}"
        return self.state.things[value.data]

    def field(self, name: str) -> Value:
        """A field of an argument's thing: ``"xDesc.n"``."""
        parameter, _, attribute = name.partition(".")
        return self.thing(parameter).fields.get(attribute, UNKNOWN)

    def constant(self, name: str) -> object:
        """What is known of an argument or a field: the constant itself, None of what is not known."""
        value = self.field(name) if "." in name else self.value(name)
        return _constant(value)

    def earlier(self, function: str) -> dict[int, bool]:
        """Earlier calls of a function on this path, and whether on all paths."""
        return self.state.done.get(function, {})


def _constant(value: Value) -> object:
    if value.kind == "items":
        return [_constant(part) for part in value.data]
    return value.data if value.kind == "known" else None


class _Listener:
    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.ended = 0

    def call(self, event: Event, state: State, journal: dict[int, Deed]) -> None:
        self.seen.append(Seen(event, state, journal))

    def finish(self, state: State, journal: dict[int, Deed]) -> None:
        self.ended += 1


def follow_units(units: list[Unit]) -> list[Seen]:
    """Follow units; what could not be followed to its end is an error."""
    listener = _Listener()
    unread = [list(unit.skipped) for unit in units]
    interpret.follow(units, [listener])
    assert listener.ended == 1
    assert [unit.skipped for unit in units] == unread
    return listener.seen


def follow(*sources: str, version: str | None = None) -> list[Seen]:
    """Follow C++ sources."""
    return follow_units([cpp.read(s.encode(), f"file{i}.cu", cudnn_version=version) for i, s in enumerate(sources)])


def calls(function: str, *sources: str) -> list[Seen]:
    """Follow C++ sources and return the calls of one function."""
    return [seen for seen in follow(*sources) if seen.event.function == function]


def call(function: str, *sources: str) -> Seen:
    """Follow C++ sources and return the only call of a function."""
    found = calls(function, *sources)
    assert len(found) == 1, found
    return found[0]
