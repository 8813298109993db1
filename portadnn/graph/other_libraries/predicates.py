"""The predicates that rules of surfaces name: each yields a fault for every place that is not as the rule demands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import layout
from ..operation_graph import Operation, TensorInfo
from .matching import name_of
from .roles import Case

Given = Mapping[str, Any]


@dataclass(frozen=True)
class Fault:
    """A place that is not as demanded; `unknown` where it may be all the same."""

    expected: str
    got: str
    node: str | None = None
    tensor: str | None = None
    unknown: bool = False


Check = Callable[[Case, Given], Iterator[Fault]]
CHECKS: dict[str, Check] = {}


def check(function: Check) -> Check:
    """Make a predicate known by its function's name."""
    CHECKS[function.__name__.strip("_")] = function
    return function


def _at(operation: Operation, port: str, info: TensorInfo, expected: str, got: Any) -> Fault:
    return Fault(expected, str(got), operation.label, f"{port} = {info.describe()}")


@check
def types(case: Case, given: Given) -> Iterator[Fault]:
    """Demand types of the tensors `of` a role."""
    for operation, port, info in case.places(given["of"]):
        if info.data_type.name not in given["types"]:
            yield _at(operation, port, info, ", ".join(given["types"]), info.data_type)


@check
def same_type(case: Case, given: Given) -> Iterator[Fault]:
    """Demand one type of all tensors `of` a role."""
    places = case.places(given["of"])
    for operation, port, info in places[1:]:
        if info.data_type is not places[0][2].data_type:
            yield _at(operation, port, info, f"{places[0][2].data_type}, as {places[0][1]}", info.data_type)


@check
def compute(case: Case, given: Given) -> Iterator[Fault]:
    """Demand compute types of the operations `of` a kind; with `by_input` those that the first input's type has."""
    for operation in case.operations(given["of"]):
        wanted = given.get("types", ())
        if "by_input" in given:
            kind = case.graph.by_uid[operation.inputs[0][1]].data_type.name
            wanted = given["by_input"].get(kind, ["none"])
        if operation.compute_type.name not in wanted:
            yield Fault(f"compute type {' or '.join(wanted)}", str(operation.compute_type), operation.label)


@check
def modes(case: Case, given: Given) -> Iterator[Fault]:
    """Demand modes of the operations `of` a kind; `modes` are those that there may be, `without` those that not."""
    for operation in case.operations(given["of"]):
        if "mode" not in operation.values:
            continue
        name = operation["mode"].name
        if name not in given.get("modes", [name]) or name in given.get("without", ()):
            expected = ", ".join(given["modes"]) if "modes" in given else "none of " + ", ".join(given["without"])
            yield Fault(expected, name, operation.label)


@check
def attribute(case: Case, given: Given) -> Iterator[Fault]:
    """Demand values of an attribute: `name` is one of `values`, or of "one"s or "zero"s, or as attribute `like`."""
    for operation in case.operations(given["of"]):
        value = operation.values.get(given["name"])
        if "like" in given:
            if value != operation.values.get(given["like"]):
                yield Fault(f"{given['name']} as {given['like']}", str(value), operation.label)
            continue
        shown = "none" if value is None else getattr(value, "name", value)
        flat = [int(v) for v in value] if isinstance(value, tuple) else None
        wanted = given["values"]
        if shown not in wanted and (flat is None or any(v not in wanted for v in flat)):
            yield Fault(f"{given['name']} of {', '.join(map(str, wanted))}", str(shown), operation.label)


@check
def absent(case: Case, given: Given) -> Iterator[Fault]:
    """Demand that operations `of` a kind have no tensor at `ports`."""
    for operation in case.operations(given["of"]):
        for port in given["ports"]:
            if port in operation.uids:
                yield Fault(f"no {port}", "there is one", operation.label)


@check
def present(case: Case, given: Given) -> Iterator[Fault]:
    """Demand that operations `of` a kind have tensors at `ports`."""
    for operation in case.operations(given["of"]):
        for port in given["ports"]:
            if port not in operation.uids:
                yield Fault(f"a tensor for {port}", "none", operation.label)


# layout


def _is_laid_out(info: TensorInfo, name: str) -> bool:
    """Tell whether a tensor lies in a layout, with axes of one element wherever they like."""
    dims = info.dims
    packed = {
        "NHWC": layout.channels_last(dims),
        "NCHW": layout.row_major(dims),
        "rows": layout.row_major(dims),
        "columns": (*layout.row_major((*dims[:-2], dims[-1], dims[-2]))[:-2], 1, dims[-2]) if len(dims) > 1 else (1,),
    }[name]
    return all(d == 1 or have == want for d, have, want in zip(dims, info.strides, packed, strict=True))


@check
def layouts(case: Case, given: Given) -> Iterator[Fault]:
    """Demand a packed layout of the tensors `of` a role: NHWC (also for 3-d images), NCHW, rows or columns."""
    wanted = given["layouts"]
    for operation, port, info in case.places(given["of"]):
        if not any(_is_laid_out(info, name) for name in wanted):
            strides = layout.channels_last(info.dims) if wanted[0] == "NHWC" else layout.row_major(info.dims)
            expected = f"{' or '.join(wanted)}, packed, such as strides {list(strides)}"
            yield _at(operation, port, info, expected, f"strides {list(info.strides)}")


@check
def one_layout(case: Case, given: Given) -> Iterator[Fault]:
    """Demand the same order of axes of all full tensors `of` a role."""
    places = [place for place in case.places(given["of"]) if len(place[2].dims) > 2]
    full = max((sum(d > 1 for d in place[2].dims) for place in places), default=0)
    full_ones = [place for place in places if sum(d > 1 for d in place[2].dims) == full]
    for operation, port, info in full_ones[1:]:
        first = full_ones[0][2]
        if layout.order_of(info.dims, info.strides) != layout.order_of(first.dims, first.strides):
            yield _at(operation, port, info, f"the axes' order of {first.describe()}", f"strides {list(info.strides)}")


@check
def innermost(case: Case, given: Given) -> Iterator[Fault]:
    """Demand stride 1 of an `axis` (counted from the end) of the tensors `of` a role."""
    for operation, port, info in case.places(given["of"]):
        axis = given["axis"]
        if info.dims[axis] > 1 and info.strides[axis] != 1:
            yield _at(operation, port, info, f"stride 1 in dim {len(info.dims) + axis}", f"{info.strides[axis]}")


@check
def alignment(case: Case, given: Given) -> Iterator[Fault]:
    """Demand promised addresses, and innermost rows, that are multiples of so many `bytes`."""
    wanted = given["bytes"]
    for operation, port, info in case.places(given["of"]):
        if info.alignment < wanted:
            yield _at(operation, port, info, f"addresses of multiples of {wanted} bytes", f"{info.alignment}")
        rows = [d for d, s in zip(info.dims, info.strides, strict=True) if s == 1 and d > 1]
        if given.get("rows") and rows and rows[0] * info.data_type.itemsize % wanted:
            size = rows[0] * info.data_type.itemsize
            yield _at(operation, port, info, f"rows of multiples of {wanted} bytes", f"{size} bytes")


# sizes


@check
def rank(case: Case, given: Given) -> Iterator[Fault]:
    """Demand numbers of dims of the tensors `of` a role."""
    for operation, port, info in case.places(given["of"]):
        if len(info.dims) not in given["ranks"]:
            yield _at(operation, port, info, f"{' or '.join(map(str, given['ranks']))} dims", len(info.dims))


@check
def size(case: Case, given: Given) -> Iterator[Fault]:
    """Demand of a `dim` to be a multiple `of_many`, at `most`, or one of `values`, for tensors of `types` if stated."""
    for operation, port, info in case.places(given["of"]):
        if info.data_type.name not in given.get("types", [info.data_type.name]):
            continue
        if given["dim"] >= len(info.dims):
            continue  # `rank` tells
        found = info.dims[given["dim"]]
        if found % given.get("multiple", 1):
            yield _at(operation, port, info, f"dim {given['dim']} a multiple of {given['multiple']}", found)
        if found > given.get("most", found):
            yield _at(operation, port, info, f"dim {given['dim']} of at most {given['most']}", found)
        if found not in given.get("values", [found]):
            yield _at(operation, port, info, f"dim {given['dim']} of {given['values']}", found)


@check
def shape(case: Case, given: Given) -> Iterator[Fault]:
    """Demand dims of the tensors `of` a role, by letters: "1" is 1, "*" is anything, "=" is the tensor's `like`."""
    model = next((place[2].dims for place in case.places(given["like"])), None) if "like" in given else None
    for operation, port, info in case.places(given["of"]):
        if not any(_fits(info.dims, text, model) for text in given["shapes"]):
            yield _at(operation, port, info, f"dims like [{'] or ['.join(given['shapes'])}]", list(info.dims))


@check
def a_vector(case: Case, given: Given) -> Iterator[Fault]:
    """Demand of one of the tensors `of` names that at most one dim is not 1."""
    places = case.places(given["of"])
    if all(sum(d > 1 for d in info.dims) > 1 for _, _, info in places):
        for operation, port, info in places[:1]:
            yield _at(operation, port, info, "one of the operands with at most one dim above 1", list(info.dims))


def _fits(dims: Sequence[int], text: str, model: Sequence[int] | None) -> bool:
    """Tell whether dims fit letters; a last letter with "..." is repeated."""
    letters = text.replace(" ", "").split(",")
    if letters[-1].endswith("..."):
        letters[-1] = letters[-1].removesuffix("...")
        letters += letters[-1:] * (len(dims) - len(letters))
    if len(letters) != len(dims):
        return False
    for place, (letter, d) in enumerate(zip(letters, dims, strict=True)):
        wanted = model[place] if letter == "=" and model is not None else 1 if letter == "1" else d
        if d != wanted:
            return False
    return True


@check
def groups(case: Case, given: Given) -> Iterator[Fault]:
    """Demand convolutions without groups."""
    for operation in case.operations("main"):
        if operation.kind == "matmul":
            continue
        ports = {"conv_fprop": ("X", "W"), "conv_dgrad": ("DX", "W"), "conv_wgrad": ("X", "DW")}[operation.kind]
        image, filters = (case.graph.at(operation, port) for port in ports)
        if image.dims[1] != filters.dims[1]:
            yield Fault("one group", f"{image.dims[1] // filters.dims[1]} groups", operation.label)


# structure


@check
def virtual(case: Case, given: Given) -> Iterator[Fault]:
    """Demand that the tensors `of` a role are virtual, or with ``are = false`` that they are not."""
    for operation, port, info in case.places(given["of"]):
        if info.virtual is not given.get("are", True):
            words = "a virtual tensor", "one in memory"
            wanted, got = words if given.get("are", True) else words[::-1]
            yield _at(operation, port, info, wanted, got)


@check
def together(case: Case, given: Given) -> Iterator[Fault]:
    """Demand that all tensors of `names` are there; with ``or_none = true`` none of them will do as well."""
    missing = [name for name in given["names"] if name not in case.names]
    if missing and not (given.get("or_none") and len(missing) == len(given["names"])):
        yield Fault(f"nodes for {', '.join(given['names'])}", f"none for {', '.join(missing)}")


@check
def broadcast_second(case: Case, given: Given) -> Iterator[Fault]:
    """Demand that no pointwise operation `of` a part broadcasts its first input."""
    for operation in case.operations(given["of"]):
        if operation.kind != "pointwise" or "IN_1" not in operation.uids:
            continue
        first, out = case.graph.at(operation, "IN_0"), case.graph.at(operation, "OUT_0")
        if first.dims != out.dims:
            yield _at(operation, "IN_0", first, f"dims {list(out.dims)}: only later operands broadcast", first.dims)


@check
def one_reduction(case: Case, given: Given) -> Iterator[Fault]:
    """Demand at most one reduction, whose result no other operation reads."""
    found = case.operations("reduction")
    for operation in found[1:]:
        yield Fault("one reduction at most", f"{len(found)}", operation.label)
    for operation in found:
        if case.readers(operation.outputs[0][1]):
            yield Fault("a reduction at the end", "its result is read again", operation.label)


@check
def from_memory(case: Case, given: Given) -> Iterator[Fault]:
    """Demand that operations `of` a kind read tensors that no operation of the graph writes."""
    for operation in case.operations(given["of"]):
        for port, uid in operation.inputs:
            if uid in case.graph.results:
                yield _at(operation, port, case.graph.by_uid[uid], "a tensor from memory", "another node's result")


@check
def nowhere(case: Case, given: Given) -> Iterator[Fault]:
    """Refuse the operations `of` a kind."""
    for operation in case.operations(given["of"]):
        yield Fault(f"no {name_of(operation)}", "there is one", operation.label)


@check
def unknown(case: Case, given: Given) -> Iterator[Fault]:
    """Say that nothing is known, of the operations `of` a kind or with certain `ports`."""
    for operation in case.operations(given["of"]):
        ports = given.get("ports", [])
        if not ports or any(port in operation.uids for port in ports):
            with_ports = f" with {', '.join(ports)}" if ports else ""
            yield Fault(
                "a source that says so", f"none for {name_of(operation)}{with_ports}", operation.label, None, True
            )
