"""Tensors: from descriptors to those of graphs, where one uid is one tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...errors import BadParam
from ...graph.api.core import info_of
from ...graph.checks.validation import check_alone
from ...graph.enums import scalar_type, tensor_reordering
from ...graph.operation_graph import TensorInfo
from ...graph.tensor import tensor
from .objects import BackendDescriptor


@dataclass(frozen=True)
class Described:
    """What a finalized tensor descriptor says, and that of its ragged offsets, where it has some."""

    info: TensorInfo
    ragged: Described | None = None

    @property
    def uid(self) -> int:
        """The number that variant packs know it by."""
        return self.info.uid

    def differs(self, other: Described) -> str:
        """Return what two descriptors of one uid say differently, or ""."""
        names = ("dims", "strides", "data_type", "virtual", "by_value")
        for name in names:
            mine, theirs = getattr(self.info, name), getattr(other.info, name)
            if mine != theirs:
                return f"{name} {mine} and {theirs}"
        return ""

    def made(self) -> tensor:
        """Return a tensor of graphs, without its ragged offsets."""
        info = self.info
        one = tensor(info.name).set_uid(info.uid).set_dim(info.dims).set_stride(info.strides)
        one.set_data_type(info.data_type).set_is_virtual(info.virtual).set_alignment(info.alignment)
        one.set_is_pass_by_value(info.by_value)
        if info.value is not None:
            one.set_value(info.value, scalar_type.COMPILE_TIME_CONST)
        return one

    def apart(self) -> Described:
        """Return it as the tensor of a variant pack, for operations that are looked at alone."""
        return Described(replace(self.info, virtual=False), self.ragged)


class Tensors:
    """The tensors of one graph by uid."""

    def __init__(self) -> None:
        self._said: dict[int, Described] = {}
        self._made: dict[int, tensor] = {}

    def get(self, one: Described) -> tensor:
        """Return the tensor that a descriptor stands for.

        Raises
        ------
        BadParam
            Another descriptor says something else of the same uid.
        """
        known = self._said.setdefault(one.uid, one)
        difference = known.differs(one)
        if difference:
            raise BadParam(
                argument="CUDNN_ATTR_TENSOR_UNIQUE_ID",
                expected=f"one tensor with the uid {one.uid}",
                got=f"two, with {difference}",
            )
        if one.uid not in self._made:
            self._made[one.uid] = one.made()
            if one.ragged is not None:
                self._made[one.uid].set_ragged_offset(self.get(one.ragged))
        return self._made[one.uid]


def finalize_tensor(descriptor: BackendDescriptor) -> Described:
    """Check a tensor's description.

    Raises
    ------
    BadParam
        Dims or strides that cannot be, or that differ in number; an alignment that cannot be.
    NotSupported
        A type, an order of elements or vectors that no engine takes.
    """
    uid = descriptor.one("TENSOR_UNIQUE_ID")
    one = tensor(f"uid {uid}").set_uid(uid)
    one.set_dim(descriptor.many("TENSOR_DIMENSIONS")).set_stride(descriptor.many("TENSOR_STRIDES"))
    one.set_data_type(descriptor.one("TENSOR_DATA_TYPE")).set_alignment(descriptor.one("TENSOR_BYTE_ALIGNMENT"))
    count, dimension = descriptor.one("TENSOR_VECTOR_COUNT", 1), descriptor.one("TENSOR_VECTORIZED_DIMENSION", -1)
    one.set_vector_count_and_dimension(count, dimension)
    one.set_reordering_type(descriptor.one("TENSOR_REORDERING_MODE", tensor_reordering.NONE))
    one.set_is_virtual(descriptor.one("TENSOR_IS_VIRTUAL", False))
    one.set_is_pass_by_value(descriptor.one("TENSOR_IS_BY_VALUE", False))
    value = descriptor.one("TENSOR_CONSTANT_VALUE")
    if value is not None:
        one.set_value(value, scalar_type.COMPILE_TIME_CONST)
    check_alone(one)
    return Described(info_of(one), descriptor.one("TENSOR_RAGGED_OFFSET_DESC"))
