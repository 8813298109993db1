"""What tables of the Graph API's descriptors are written with: attributes, and kinds of descriptors that have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MANY = 1 << 16  # elements, where the number is not limited
DIMS = 8  # CUDNN_DIM_MAX
NUMBER = ("DOUBLE", "FLOAT")


@dataclass(frozen=True)
class Attribute:
    """An attribute of a descriptor.

    Attributes
    ----------
    name : str
        As in C, without ``CUDNN_ATTR_``.
    types : tuple of str
        Types that its elements may have.
    most : int
        Elements that it may have.
    required : bool
        Whether the descriptor cannot be finalized without.
    result : bool
        Whether it is read only: there is something to get once the descriptor is finalized.
    of : str
        What kind of descriptor its elements are, where they are some.
    input, output : str
        Port of the graph's node that the tensor belongs to.
    node : str
        Attribute of the graph's node that it states; ``"compute"`` is the type to compute in.
    """

    name: str
    types: tuple[str, ...]
    most: int = 1
    required: bool = False
    result: bool = False
    of: str = ""
    input: str = ""
    output: str = ""
    node: str = ""

    @property
    def c_name(self) -> str:
        """The name in C."""
        return f"CUDNN_ATTR_{self.name}"


@dataclass(frozen=True)
class DescriptorKind:
    """A kind of descriptor; `node` is the kind of node that an operation stands for, where that is settled."""

    name: str
    attributes: dict[str, Attribute]
    node: str = ""

    @property
    def c_name(self) -> str:
        """The name in C."""
        return f"CUDNN_BACKEND_{self.name}_DESCRIPTOR"

    @property
    def is_operation(self) -> bool:
        """Whether it stands for a node of a graph."""
        return self.name.startswith("OPERATION_")

    def missing(self, given: Iterable[str]) -> list[Attribute]:
        """Return the required attributes that are not among those given."""
        present = set(given)
        return [each for each in self.attributes.values() if each.required and each.name not in present]


def kind(name: str, *attributes: Attribute, node: str = "") -> DescriptorKind:
    """Return a kind of descriptor with these attributes."""
    return DescriptorKind(name, {each.name: each for each in attributes}, node)


def need(name: str, *types: str, most: int = 1, node: str = "", of: str = "") -> Attribute:
    """Return an attribute that has to be set."""
    return Attribute(name, types, most, required=True, node=node, of=of)


def may(name: str, *types: str, most: int = 1, node: str = "", of: str = "") -> Attribute:
    """Return an attribute that can be left out."""
    return Attribute(name, types, most, node=node, of=of)


def result(name: str, *types: str, most: int = 1, of: str = "") -> Attribute:
    """Return an attribute that can only be read."""
    return Attribute(name, types, most, result=True, of=of)
