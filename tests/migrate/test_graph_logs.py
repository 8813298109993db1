"""Graphs by backend descriptors in cuDNN's logs: what they tell of a descriptor, and what the rules say of it."""

from __future__ import annotations

from portadnn.migrate.events import Event
from portadnn.migrate.findings import Finding
from portadnn.migrate.logs.follow import follow
from portadnn.migrate.model.state import Deed, State
from portadnn.migrate.rules.engine import Judge

TRAILER = """i! Time: 2026-01-02T03:04:05.678901 (0d+0h+0m+1s since start)
i! Process=7; Thread=7; GPU=NULL; Handle=NULL; StreamId=NULL.

"""


def call(function: str, *lines: str) -> str:
    return (
        "\n".join([f"I! CuDNN (v91200 46) function {function}() called:", *(f"i!     {line}" for line in lines)])
        + "\n"
        + TRAILER
    )


def attribute(kind: str, name: str, type_: str, *elements: str, described: tuple[str, ...] = ()) -> str:
    """Return the record of a SetAttribute: the descriptor as it was before, the attribute, its elements."""
    return call(
        "cudnnBackendSetAttribute",
        f"descriptor: type=CUDNN_BACKEND_{kind}_DESCRIPTOR:",
        *(f"    {line}" for line in described),
        f"attributeName: type=cudnnBackendAttributeName_t; val=CUDNN_ATTR_{name} (1);",
        f"attributeType: type=cudnnBackendAttributeType_t; val=CUDNN_TYPE_{type_} (3);",
        f"elementCount: type=int64_t; val={len(elements)};",
        *(f"[{i}]: {element};" for i, element in enumerate(elements)),
    )


TENSOR = ("type: type=cudnnDataType_t; val=CUDNN_DATA_FLOAT (0);", "uid: type=int64_t; val=119;")


class Kept:
    """Keeps the calls that a log tells of."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def call(self, event: Event, state: State, journal: dict[int, Deed]) -> None:
        self.events.append(event)

    def finish(self, state: State, journal: dict[int, Deed]) -> None:
        """Nothing is left to do."""


def told(text: str, target: str = "miopen-3") -> tuple[list[Event], list[Finding]]:
    judge, kept = Judge(target), Kept()
    follow(text.splitlines(), "cudnn.log", [kept, judge])
    return kept.events, [finding for finding in judge.findings if finding.rule.startswith("G")]


def test_elements_follow_their_number_without_a_name() -> None:
    events, found = told(
        attribute(
            "TENSOR", "TENSOR_DIMENSIONS", "INT64", *(f"type=int64_t; val={n}" for n in (8, 3, 14)), described=TENSOR
        )
    )
    (event,) = events
    assert event.by_name["elementCount"].read.data == 3
    assert [element.data for element in event.by_name["arrayOfElements"].read.data] == [8, 3, 14]
    assert found == []


def test_what_miopen_refuses() -> None:
    log = attribute("TENSOR", "TENSOR_BYTE_ALIGNMENT", "INT64", "type=int64_t; val=32", described=TENSOR)
    log += attribute("TENSOR", "TENSOR_UNIQUE_ID", "INT64", "type=int64_t; val=7")
    log += call(
        "cudnnBackendCreateDescriptor",
        "descriptorType: type=cudnnBackendDescriptorType_t; val=CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR (29);",
    )
    _, found = told(log)
    assert [(finding.rule, finding.place.line) for finding in found] == [
        ("G07", 1),
        ("G06", log[: log.index("CreateDesc")].count("\n") + 1),
    ]
    assert "CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR" in found[1].message
    assert told(log, "cudnn-9")[1] == []


def test_an_attribute_of_another_descriptor() -> None:
    _, found = told(attribute("MATMUL", "TENSOR_UNIQUE_ID", "INT64", "type=int64_t; val=7"), "cudnn-9")
    assert [finding.rule for finding in found] == ["G04"]
    assert "CUDNN_ATTR_TENSOR_UNIQUE_ID on a CUDNN_BACKEND_MATMUL_DESCRIPTOR" in found[0].message


def test_nothing_is_said_of_what_logs_do_not_tell() -> None:
    """Logs do not say which of several equal descriptors a call is about: no order of calls is judged."""
    log = call(
        "cudnnBackendFinalize", "descriptor: type=CUDNN_BACKEND_TENSOR_DESCRIPTOR:", *(f"    {line}" for line in TENSOR)
    )
    log += attribute("TENSOR", "TENSOR_UNIQUE_ID", "INT64", "type=int64_t; val=119", described=TENSOR)
    log += call(
        "cudnnBackendExecute", "executionPlan: location=host; addr=0x11;", "variantPack: location=host; addr=0x22;"
    )
    assert told(log)[1] == []
