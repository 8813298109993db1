"""Backend descriptors: opaque objects whose attributes are set by name, then finalized, then read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...arguments import as_integer
from ...c_names.graph_attributes import Attribute, DescriptorKind
from ...c_names.graph_descriptors import kinds
from ...enums import plain_number
from ...errors import BadParam, NotInitialized, NotSupported, shown
from ..calls import c_value
from ..descriptors import Descriptor, made
from . import values


@dataclass(frozen=True)
class Given:
    """What an attribute was set to: the elements as they came, and what they mean to graphs."""

    type: str
    elements: tuple[Any, ...]
    meanings: tuple[Any, ...]


class BackendDescriptor(Descriptor):
    """A ``cudnnBackendDescriptor_t``. `value` is what finalizing made of it, None before.

    Attributes
    ----------
    kind : DescriptorKind
        What it describes.
    given : dict of str to Given
        Attributes that were set, by their names without ``CUDNN_ATTR_``.
    """

    what = "backend descriptor"
    made_by = "cudnnBackendCreateDescriptor"

    def __init__(self, kind: DescriptorKind) -> None:
        self.kind = kind
        self.given: dict[str, Given] = {}

    def one(self, name: str, default: Any = None) -> Any:
        """Return what the first element of an attribute means."""
        found = self.given.get(name)
        return default if found is None else found.meanings[0]

    def many(self, name: str) -> tuple[Any, ...]:
        """Return what the elements of an attribute mean; none where it was not set."""
        found = self.given.get(name)
        return () if found is None else found.meanings

    def __repr__(self) -> str:
        state = "destroyed" if self.destroyed else "not finalized" if self.value is None else "finalized"
        return f"<{self.kind.c_name}: {state}>"


def attribute_of(descriptor: BackendDescriptor, name: Any) -> Attribute:
    """Return the attribute of a descriptor that a member of ``cudnnBackendAttributeName_t`` names.

    Raises
    ------
    BadParam
        The descriptor has none of that name.
    NotSupported
        In cuDNN it has, but portadnn has nothing like it.
    """
    member = c_value("cudnnBackendAttributeName_t", name, "attributeName")
    found = descriptor.kind.attributes.get(member.name.removeprefix("CUDNN_ATTR_"))
    if found is not None:
        return found
    names = ", ".join(each.c_name for each in descriptor.kind.attributes.values())
    if _home(member.name) == descriptor.kind.name:
        raise NotSupported(argument="attributeName", expected=f"one of {names}", got=member.name)
    raise BadParam(
        argument="attributeName", expected=f"an attribute of {descriptor.kind.c_name}: {names}", got=member.name
    )


def _home(name: str) -> str:
    """Return the kind of descriptor that an attribute belongs to, by the longest common beginning of the names."""
    best, home = 0, ""
    for kind in kinds().values():
        for attribute in kind.attributes.values():
            common = next(
                (i for i, (a, b) in enumerate(zip(name, attribute.c_name, strict=False)) if a != b), len(name)
            )
            if common > best:
                best, home = common, kind.name
    return home


def _described(attribute: Attribute, value: Any, argument: str) -> Any:
    """Return what a finalized descriptor stands for."""
    made(value, BackendDescriptor, argument)
    kind: DescriptorKind = value.kind
    if attribute.of != kind.name and not (attribute.of == "OPERATION" and kind.is_operation):
        wanted = "a descriptor of an operation" if attribute.of == "OPERATION" else kinds()[attribute.of].c_name
        raise BadParam(argument=argument, expected=f"{wanted} for {attribute.c_name}", got=shown(value))
    if value.value is None:
        raise BadParam(
            argument=argument, expected="a finalized descriptor (cudnnBackendFinalize)", got=f"{kind.c_name}, not yet"
        )
    return value.value


def assign(descriptor: BackendDescriptor, name: Any, type: Any, count: Any, given: Any) -> None:
    """Set an attribute, replacing what it was set to before.

    Raises
    ------
    NotInitialized
        The descriptor is finalized: it cannot be changed any longer.
    BadParam
        No such attribute, or one that is read only; another type; a wrong number of elements; wrong elements.
    NotSupported
        Elements that cuDNN has and portadnn lacks.
    """
    made(descriptor, BackendDescriptor, "descriptor")
    if descriptor.value is not None:
        raise NotInitialized(
            argument="descriptor", expected="one that is not finalized", got=f"{descriptor.kind.c_name}, finalized"
        )
    attribute = attribute_of(descriptor, name)
    if attribute.result:
        raise BadParam(
            argument="attributeName", expected="an attribute that can be set", got=f"{attribute.c_name}, read only"
        )
    kept_type = values.check_type(attribute, type)
    least = 0 if attribute.most > 1 and not attribute.required else 1
    number = plain_number(count)
    if number is None or not least <= number <= attribute.most:
        most = f"{least} to {attribute.most}" if attribute.most > 1 else "1"
        raise BadParam(argument="elementCount", expected=f"{most} for {attribute.c_name}", got=shown(count))
    pairs = []
    for i, value in enumerate(values.sequence(kept_type, number, given) if number else ()):
        argument = f"arrayOfElements[{i}]"
        if kept_type == "BACKEND_DESCRIPTOR":
            pairs.append((value, _described(attribute, value, argument)))
        elif kept_type == "CHAR":
            pairs.append((value, value))
        else:
            pairs.append(values.element(kept_type, value, argument))
    elements, meanings = tuple(kept for kept, _ in pairs), tuple(meaning for _, meaning in pairs)
    descriptor.given[attribute.name] = Given(kept_type, elements, meanings)


def demand_complete(descriptor: BackendDescriptor) -> None:
    """Demand that all required attributes of a descriptor are set.

    Raises
    ------
    BadParam
        Some are not; all of them are named.
    """
    missing = descriptor.kind.missing(descriptor.given)
    if missing:
        raise BadParam(
            argument="descriptor",
            expected=f"{descriptor.kind.c_name} with {', '.join(each.c_name for each in missing)}",
            got="none of that" if len(missing) > 1 else "none",
        )


def hand_over(elements: Sequence[Any], requested: Any, places: Any) -> tuple[int, list[Any]]:
    """Return the number of elements, and as many of them as were requested, also through the places that C fills.

    Text is one str, of as many characters as were requested.

    Raises
    ------
    BadParam
        The number requested is none, or there are fewer places; places for descriptors that are none.
    """
    requested = as_integer(requested, "requestedElementCount", 0, "a number of at least 0")
    if elements and isinstance(elements[0], str):  # of text each character is an element
        return len(elements[0]), [elements[0][:requested]] if requested else []
    told = list(elements[:requested])
    if places is None or not told:
        return len(elements), told
    if type(places) is not list or len(places) < len(told):
        raise BadParam(argument="arrayOfElements", expected=f"a list of {len(told)} or more", got=shown(places))
    for i, found in enumerate(told):
        if isinstance(found, BackendDescriptor):
            made(places[i], BackendDescriptor, f"arrayOfElements[{i}]")
            if places[i].kind is not found.kind or places[i].value is not None:
                wanted = f"a {found.kind.c_name} that is not finalized"
                raise BadParam(argument=f"arrayOfElements[{i}]", expected=wanted, got=shown(places[i]))
            places[i].given, places[i].value = found.given, found.value
        else:
            places[i] = found
    return len(elements), places[: len(told)]
