"""Tensors of a graph: what they look like, not what is in them. Setters return the tensor, so that they chain."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Sequence
from typing import Any, Protocol

from ..dispatch.bound_call import Marker
from . import layout
from .api.arguments import integers, text, truth
from .api.arguments import number as _number
from .data_types import data_type
from .enums import scalar_type, tensor_reordering
from .rules import fail


class Producer(Protocol):
    """The node that writes a tensor."""

    @property
    def label(self) -> str:
        """Kind and name, for messages."""


DEFAULT_ALIGNMENT = 16  # bytes
MOST_DIMS = 64  # that are kept; validate demands fewer


def _whole(values: Any, argument: str) -> list[int]:
    numbers = integers(values, argument, "PG-TENSOR-002", fix="pass [8, 64, 56, 56]")
    if len(numbers) > MOST_DIMS:
        raise fail("PG-TENSOR-002", argument=argument, expected=f"at most {MOST_DIMS}", got=len(numbers))
    return list(numbers)


class tensor(Marker):
    """A tensor of a graph, as ``cudnn.tensor``.

    Parameters
    ----------
    name
        For messages, the variant pack's errors and pictures.

    Notes
    -----
    Dims and strides are lists in logical order (n, c, [d,] h, w), strides count elements. What is unset is inferred by
    ``validate``: for the outputs of nodes everything, for inputs the type.
    """

    def __init__(self, name: str = "") -> None:
        self._name = text(name, "name")
        self._dim: list[int] = []
        self._stride: list[int] = []
        self._data_type = data_type.NOT_SET
        self._is_virtual = False
        self._is_pass_by_value = False
        self.by_value_assumed = False  # because it is like an array of one number in host memory
        self._value: float | int | None = None
        self._scalar_type: scalar_type | None = None
        self._ragged_offset: tensor | None = None
        self._ragged_multiplier = 1
        self._reordering = tensor_reordering.NONE
        self._alignment = DEFAULT_ALIGNMENT
        self._vector = (1, -1)
        self.inferred: set[str] = set()  # which of "dims" and "strides" validate settled
        self._uid: int | None = None
        self.producer: Producer | None = None  # set by the graph
        self.port = ""  # of the producer

    # what programs ask and set

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def set_name(self, name: str) -> tensor:
        """Set the name."""
        self._name = text(name, "name")
        return self

    def get_data_type(self) -> data_type:
        """Return the type; NOT_SET before ``validate`` where none was set."""
        return self._data_type

    def set_data_type(self, data_type: Any) -> tensor:
        """Set the type, also by a torch or NumPy dtype."""
        self._data_type = _parse_type(data_type)
        return self

    def get_dim(self) -> list[int]:
        """Return the dims; empty where unset."""
        return list(self._dim)

    def set_dim(self, dim: Sequence[int]) -> tensor:
        """Set the dims."""
        self._dim = _whole(dim, "dim")
        self.inferred.discard("dims")
        return self

    def get_stride(self) -> list[int]:
        """Return the strides in elements; empty where unset."""
        return list(self._stride)

    def set_stride(self, stride: Sequence[int]) -> tensor:
        """Set the strides, in elements."""
        self._stride = _whole(stride, "stride")
        self.inferred.discard("strides")
        return self

    def as_column(self, wanted: layout.Dims) -> None:
        """Give a row of numbers of any rank, as programs have them, dims such as (n, 1, 1, 1); leave others alone."""
        count = math.prod(self._dim)
        if self.producer is None and self._dim != list(wanted) and count == max(self._dim, default=0) == wanted[0]:
            step = next((step for size, step in zip(self._dim, self._stride, strict=False) if size > 1), 1)
            self.set_dim(wanted).set_stride([step, *(1,) * (len(wanted) - 1)])

    def get_is_virtual(self) -> bool:
        """Tell whether it exists inside the graph only."""
        return self._is_virtual

    def set_is_virtual(self, is_virtual: bool) -> tensor:
        """Keep it inside the graph, or have it in the variant pack."""
        self._is_virtual = truth(is_virtual, "is_virtual")
        return self

    def set_output(self, is_output: bool) -> tensor:
        """Make it a result of the graph, that is not virtual."""
        return self.set_is_virtual(not truth(is_output, "is_output"))

    def get_is_pass_by_value(self) -> bool:
        """Tell whether the variant pack has a number of the host's for it."""
        return self._is_pass_by_value

    def set_is_pass_by_value(self, is_pass_by_value: bool) -> tensor:
        """Have it in the variant pack as a number of the host's."""
        self._is_pass_by_value = truth(is_pass_by_value, "is_pass_by_value")
        self.by_value_assumed = False
        return self

    def get_has_compile_time_constant(self) -> bool:
        """Tell whether its value is part of the graph."""
        return self._scalar_type is scalar_type.COMPILE_TIME_CONST

    def get_uid(self) -> int:
        """Return the uid; 0 before one was set or given by ``build_operation_graph``."""
        return self._uid or 0

    def has_uid(self) -> bool:
        """Tell whether there is a uid."""
        return self._uid is not None

    def set_uid(self, uid: int) -> tensor:
        """Set the uid, the key of variant packs."""
        self._uid = _whole([uid], "uid")[0]
        return self

    def get_reordering_type(self) -> tensor_reordering:
        """Return the special order of elements, if any."""
        return self._reordering

    def set_reordering_type(self, reordering_type: Any) -> tensor:
        """Set a special order of elements: F8_128x4 for scales of blocks; there are no others."""
        self._reordering = tensor_reordering.parse(reordering_type, "reordering_type")
        return self

    def get_alignment(self) -> int:
        """Return the bytes that the address is a multiple of."""
        return self._alignment

    def set_alignment(self, alignment: int) -> tensor:
        """Promise an address that is a multiple of so many bytes."""
        self._alignment = _whole([alignment], "alignment")[0]
        return self

    def get_vector_count(self) -> int:
        """Return the elements that lie together along the vectorised dim; 1 for none."""
        return self._vector[0]

    def get_vector_dimension(self) -> int:
        """Return the vectorised dim; -1 for none."""
        return self._vector[1]

    def set_vector_count_and_dimension(self, count: int, dimension: int) -> tensor:
        """State that elements lie together along a dim; no engine takes counts other than 1."""
        count, dimension = _whole([count, dimension], "vector_count")
        self._vector = (count, dimension)
        return self

    def get_ragged_offset(self) -> tensor | None:
        """Return the tensor of offsets of the batch's entries, if any."""
        return self._ragged_offset

    def set_ragged_offset(self, ragged_offset: Any) -> tensor:
        """Set the tensor of offsets at which the batch's entries begin; None for none."""
        if ragged_offset is not None and not isinstance(ragged_offset, tensor):
            got = type(ragged_offset).__name__
            raise fail("PG-TENSOR-017", argument="ragged_offset", expected="a tensor of the graph", got=got)
        self._ragged_offset = ragged_offset
        return self

    def get_ragged_offset_multiplier(self) -> int:
        """Return what each ragged offset counts, in elements."""
        return self._ragged_multiplier

    def set_ragged_offset_multiplier(self, multiplier: int) -> tensor:
        """Set what each ragged offset counts, in elements."""
        self._ragged_multiplier = _whole([multiplier], "multiplier")[0]
        return self

    # what the graph asks and sets

    @property
    def dims(self) -> layout.Dims:
        """The dims."""
        return tuple(self._dim)

    @property
    def strides(self) -> layout.Dims:
        """The strides."""
        return tuple(self._stride)

    @property
    def value(self) -> float | int | None:
        """The scalar's value where it was stated: fixed, or the one that holds unless the variant pack has another."""
        return self._value

    def set_value(self, value: float | int, kind: scalar_type) -> tensor:
        """Make it a scalar of that value."""
        number = _number(value, "value", "PG-TENSOR-014", "a finite int or float")
        if not math.isfinite(number):
            raise fail("PG-TENSOR-014", argument="value", expected="a finite int or float", got=number)
        self._value, self._scalar_type, self._is_pass_by_value = number, scalar_type.parse(kind, "kind"), True
        return self

    @property
    def same_memory(self) -> tuple[Any, ...]:
        """What two tensors of one uid must share to be one tensor in place."""
        return (self.dims, self.strides, self._data_type)

    def describe(self) -> str:
        """Return name, type, dims and origin, for messages."""
        kind = "" if self._data_type is data_type.NOT_SET else f"{self._data_type} "
        origin = f", {self.port} of {self.producer.label}" if self.producer is not None else ""
        uid = f" (uid {self._uid})" if self._uid is not None and not self._name else ""
        return f"tensor '{self._name}'{uid} [{kind}{self._dim or 'dims unset'}{origin}]"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON."""
        return {
            "name": self._name,
            "uid": self.get_uid(),
            "uid_assigned": self.has_uid(),
            "data_type": None if self._data_type is data_type.NOT_SET else self._data_type.name,
            "dim": self._dim,
            "stride": self._stride,
            "is_virtual": self._is_virtual,
            "is_pass_by_value": self._is_pass_by_value,
            "pass_by_value": self._value,
            "reordering_type": self._reordering.name,
            "alignment": self._alignment,
            "ragged_offset": None if self._ragged_offset is None else self._ragged_offset.get_name(),
        }

    def __repr__(self) -> str:
        return json.dumps(self.as_dict())


for _field in (
    *("name", "uid", "dim", "stride", "data_type", "is_virtual", "is_pass_by_value"),
    *("reordering_type", "ragged_offset", "ragged_offset_multiplier"),
):  # programs read the getters' answers as attributes as well; in the class these names are arguments
    setattr(tensor, _field, property(operator.methodcaller(f"get_{_field}")))

_parse_type = data_type.parse  # inside the class `data_type` is an argument's name as well
setattr(tensor, "uid_assigned", property(tensor.has_uid))  # noqa: B010
for _field, _kept in (("pass_by_value", "_value"), ("scalar_type", "_scalar_type")):
    setattr(tensor, _field, property(operator.attrgetter(_kept)))
