"""Rules about graphs that are described by backend descriptors: what is set, finalized, and used when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ....c_names.graph_attributes import Attribute, DescriptorKind
from ....c_names.graph_descriptors import kinds
from ...model.effects import parts
from ...model.state import Deed, Thing
from ...values import Value
from ..registry import check
from ..situation import Hit, Situation

_SIZE = "CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE"
_WORKSPACE = "CUDNN_ATTR_VARIANT_PACK_WORKSPACE"
_PLANS = {"EXECUTION_PLAN_ENGINE_CONFIG", "EXECUTION_PLAN_JSON_REPRESENTATION"}  # either makes a plan


def _sure(thing: Thing | None) -> bool:
    """Tell whether everything is known that a program did with a descriptor."""
    return thing is not None and thing.kind == "backend" and thing.created is not None and _plain(thing)


def _plain(thing: Thing) -> bool:
    return thing.certain and not thing.many and thing.destroyed is None


def _name(value: Value | None, prefix: str) -> str:
    """Return the rest of an enumerator's name, or "" where it is not known."""
    said = str(value.data) if value is not None and value.kind == "known" else ""
    return said.removeprefix(prefix) if said.startswith(prefix) else ""


def _kind(thing: Thing) -> DescriptorKind | None:
    """Return what a descriptor describes, if portadnn's table has it."""
    name = _name(thing.fields.get("descriptorType"), "CUDNN_BACKEND_").removesuffix("_DESCRIPTOR")
    return kinds().get(name)


def _deed(situation: Situation, thing: Thing, function: str) -> Deed | None:
    """Return the last call of a function that changed a descriptor."""
    found = (situation.journal.get(number) for number in reversed(thing.set_by))
    return next((deed for deed in found if deed is not None and deed.event.function == function), None)


def _finalized(thing: Thing) -> bool | None:
    told = thing.fields.get("finalized")
    return bool(told.data) if told is not None and told.kind == "known" else None


@check("name", "does")
def used_before_finalized(situation: Situation) -> Iterator[Hit]:
    """Yield descriptors that are passed on, asked or executed, and that were never finalized."""
    verbs = {"executionPlan": "executed", "variantPack": "executed on"}
    if situation.event.function.endswith("GetAttribute"):
        verbs = {"descriptor": "asked"}
    elif situation.event.function.endswith("SetAttribute"):
        verbs = {"arrayOfElements": "passed on"}
    for parameter, does in verbs.items():
        argument = situation.argument(parameter)
        for value in () if argument is None else parts(argument.read):
            thing = situation.state.things.get(value.data) if value.kind == "thing" else None
            if thing is not None and _sure(thing) and _finalized(thing) is False:
                made = situation.journal.get(thing.created or 0)
                related = () if made is None else ((made, "it is made here"),)
                yield Hit(about=parameter, words={"name": thing.name, "does": does}, related=related)


@check("name")
def set_after_finalized(situation: Situation) -> Iterator[Hit]:
    """Yield attributes that are set on a descriptor which is finalized."""
    thing = situation.thing("descriptor")
    if thing is not None and _sure(thing) and _finalized(thing):
        deed = _deed(situation, thing, "cudnnBackendFinalize")
        related = () if deed is None else ((deed, "it is finalized here"),)
        yield Hit(about="descriptor", words={"name": thing.name}, related=related)


@check("name", "missing", "kind")
def finalized_incomplete(situation: Situation) -> Iterator[Hit]:
    """Yield descriptors that are finalized without attributes that they need."""
    thing = situation.thing("descriptor")
    if thing is None or not _sure(thing) or any(name.endswith("_DEVICEPROP") for name in thing.fields):
        return
    kind = _kind(thing)
    deeds = [situation.journal.get(number) for number in thing.set_by]
    setting = [deed for deed in deeds if deed is None or deed.event.function == "cudnnBackendSetAttribute"]
    for deed in setting:
        attribute = None if deed is None else deed.event.argument("attributeName")
        if attribute is None or attribute.value.kind != "known":
            return  # it may be any
    if kind is None:
        return
    given = {name.removeprefix("CUDNN_ATTR_") for name in thing.fields if name.startswith("CUDNN_ATTR_")}
    missing = [attribute.c_name for attribute in kind.missing(given)]
    if kind.name == "EXECUTION_PLAN" and not given & _PLANS:
        missing.append("CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG")
    if missing:
        words = {"name": thing.name, "missing": ", ".join(missing), "kind": kind.c_name}
        yield Hit(about="descriptor", words=words)


def _attributes() -> dict[str, tuple[DescriptorKind, Attribute]]:
    return {attribute.name: (kind, attribute) for kind in kinds().values() for attribute in kind.attributes.values()}


@check("wrong", "wanted")
def wrong_attribute(situation: Situation) -> Iterator[Hit]:
    """Yield attributes of another descriptor, of another type, or with another number of elements."""
    found = _attributes().get(_name(situation.value("attributeName"), "CUDNN_ATTR_"))
    if found is None:
        return
    home, attribute = found
    thing = situation.thing("descriptor")
    kind = _kind(thing) if thing is not None and _plain(thing) else None
    if kind is not None and attribute.name not in kind.attributes:
        words = {"wrong": f"{attribute.c_name} on a {kind.c_name}", "wanted": f"it is of {home.c_name}"}
        yield Hit(about="attributeName", words=words)
        return
    type_ = _name(situation.value("attributeType"), "CUDNN_TYPE_")
    if type_ and type_ not in attribute.types:
        wanted = " or ".join(f"CUDNN_TYPE_{each}" for each in attribute.types)
        yield Hit(about="attributeType", words={"wrong": f"CUDNN_TYPE_{type_}", "wanted": f"it takes {wanted}"})
    count = situation.value("elementCount")
    if count.kind == "known" and isinstance(count.data, int) and count.data > attribute.most:
        words = {"wrong": f"{count.data} elements", "wanted": f"it takes at most {attribute.most}"}
        yield Hit(about="elementCount", words=words)


@check("name")
def no_workspace(situation: Situation) -> Iterator[Hit]:
    """Yield executions on packs without a workspace, where nobody asked whether the plan needs one."""
    pack = situation.thing("variantPack")
    if pack is None or not _sure(pack):
        return
    given = pack.fields.get(_WORKSPACE)
    if given is not None and not given.is_null:
        return
    asked = (deed.event.argument("attributeName") for deed, _ in situation.before(("cudnnBackendGetAttribute",)))
    if not any(name is None or name.value.kind != "known" or name.value.data == _SIZE for name in asked):
        yield Hit("possible", about="variantPack", words={"name": pack.name})


@check("place")
def no_place(situation: Situation) -> Iterator[Hit]:
    """Yield queries with NULL for the elements or for their number."""
    for name in ("elementCount", "arrayOfElements"):
        argument = situation.argument(name)
        if argument is not None and argument.value.is_null and situation.event.origin == "source":
            yield Hit(about=name, words={"place": "the elements" if name == "arrayOfElements" else "their number"})


_PATTERNS = (
    Counter({"OPERATION_CONVOLUTION_FORWARD": 1, "OPERATION_POINTWISE": 3}),  # + z, + bias, ReLU
    Counter({"OPERATION_MATMUL": 2, "OPERATION_POINTWISE": 13, "OPERATION_REDUCTION": 4, "OPERATION_RNG": 1}),
)


@check("operations")
def no_engine_in_miopen(situation: Situation) -> Iterator[Hit]:
    """Yield graphs of other operations than those for which MIOpen has engines."""
    if _name(situation.value("attributeName"), "CUDNN_ATTR_") != "OPERATIONGRAPH_OPS":
        return
    argument = situation.argument("arrayOfElements")
    count = situation.value("elementCount")
    if argument is None or count.kind != "known" or not isinstance(count.data, int):
        return
    values = parts(argument.read)[: count.data]
    things = [situation.state.things.get(value.data) if value.kind == "thing" else None for value in values]
    kinds_ = (_kind(thing) for thing in things if thing is not None and not thing.many)
    names = [kind.name for kind in kinds_ if kind is not None]
    if len(names) < count.data or Counter(names) in _PATTERNS or names.count("OPERATION_MATMUL") > 2:
        return
    said = ", ".join(name.removeprefix("OPERATION_").lower().replace("_", " ") for name in names)
    yield Hit(about="arrayOfElements", words={"operations": said})
