"""Connectionist temporal classification: costs of label sequences and their gradients (cudnnCTCLoss of cuDNN 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..arguments import as_integer, as_integers
from ..descriptors import Parameters, TensorDescriptor, check_descriptor
from ..dispatch.arrays import integers_on_device
from ..dispatch.choice import workspace_size
from ..dispatch.execute import computes, execute
from ..dispatch.problems import check_handle, make_problem
from ..enums import DataType, DnnEnum
from ..errors import BadParam, public, shown
from ..handle import Handle
from ..problem import Problem
from ..specs import TensorSpec, check_same

if TYPE_CHECKING:
    from portadnn_backends.base import Device

__all__ = ["CTCGradMode", "CTCLossDescriptor", "LossNormalizationMode", "ctc_loss", "get_ctc_loss_workspace_size"]

_MOST_LABELS = 1 << 30  # classes, steps and labels are int in kernels


class LossNormalizationMode(DnnEnum):
    """What `probs` of :func:`ctc_loss` are (cudnnLossNormalizationMode_t of cuDNN 7.6)."""

    NONE = 0
    SOFTMAX = 1

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header."""
        return f"CUDNN_LOSS_NORMALIZATION_{self.name}"


class CTCGradMode(DnnEnum):
    """What becomes of the gradients of a label that does not fit into its steps (cudnnCTCGradMode_t of cuDNN 9)."""

    ZERO_OOB_GRADIENTS = 0
    SKIP_OOB_GRADIENTS = 1

    @property
    def c_name(self) -> str:
        """The name in cuDNN's header."""
        return f"CUDNN_CTC_{self.name}"


@dataclass(frozen=True)
class CTCLoss(Problem):
    """costs[n] = -log of the probability of label n in all its alignments; gradients of what the softmax takes."""

    op: ClassVar[str] = "ctc_loss"
    inputs: ClassVar[tuple[str, ...]] = ("probs", "labels", "label_lengths", "input_lengths")
    outputs: ClassVar[tuple[str, ...]] = ("costs", "gradients")
    scalars: ClassVar[dict[str, float]] = {}
    absent: ClassVar[tuple[str, ...]] = ("gradients",)
    ranks: ClassVar[dict[str, tuple[int, int]]] = {
        "probs": (3, 3),
        "labels": (1, 2),
        "label_lengths": (1, 1),
        "input_lengths": (1, 1),
        "costs": (1, 1),
        "gradients": (3, 3),
    }

    probs: TensorSpec
    labels: TensorSpec
    label_lengths: TensorSpec
    input_lengths: TensorSpec
    costs: TensorSpec
    gradients: TensorSpec | None = None
    normalization: LossNormalizationMode = LossNormalizationMode.SOFTMAX
    gradient_mode: CTCGradMode = CTCGradMode.ZERO_OOB_GRADIENTS
    max_label_length: int | None = None
    blank: int = 0

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "probs" in values and len(values["probs"].dims) == 3:
            values.setdefault("costs", TensorSpec.packed(values["probs"].dtype, values["probs"].dims[1:2]))

    def types(self, name: str) -> tuple[DataType, ...]:
        return super().types(name) if name in ("probs", *self.outputs) else (DataType.INT32,)

    def validate(self) -> None:
        super().validate()
        steps, batch, classes = self.probs.dims
        if not 1 <= classes <= _MOST_LABELS or steps > _MOST_LABELS:
            raise BadParam(argument="probs.dims", expected="1 class or more, and int32 numbers", got=self.probs.dims)
        if self.labels.dims[:-1] not in ((), (batch,)):
            raise BadParam(argument="labels.dims", expected=f"({batch}, longest), or one dim", got=self.labels.dims)
        for name in ("label_lengths", "input_lengths", "costs"):
            if getattr(self, name).dims != (batch,):
                raise BadParam(argument=f"{name}.dims", expected=f"({batch},) as probs", got=getattr(self, name).dims)
        if self.costs.dtype is not self.probs.dtype:
            raise BadParam(argument="costs.dtype", expected=f"{self.probs.dtype} as probs", got=self.costs.dtype)
        if self.gradients is not None:
            check_same(self.probs, "probs", self.gradients, "gradients")
        if not 0 <= self.blank < classes:
            raise BadParam(argument="blank", expected=f"a class of the {classes}", got=self.blank)
        most = _MOST_LABELS if len(self.labels.dims) == 1 else self.labels.dims[1]
        if self.max_label_length is not None and not 0 <= self.max_label_length <= most:
            raise BadParam(argument="max_label_length", expected=f"0 to {most}", got=self.max_label_length)

    @property
    def longest(self) -> int:
        """The length of a label that nothing in a call exceeds."""
        return self.labels.dims[-1] if self.max_label_length is None else self.max_label_length

    @property
    def states(self) -> int:
        """The states of a label that fits into the steps: its classes, and blanks around each."""
        return 2 * min(self.longest, self.probs.dims[0]) + 1

    def flops(self) -> int:
        steps, batch, classes = self.probs.dims
        passes = 1 if self.gradients is None else 3
        return steps * batch * (10 * passes * self.states + 4 * classes)

    def reduction_length(self, output: str) -> int:
        return max(self.probs.dims[0], 1)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        kept = self.gradient_mode is CTCGradMode.SKIP_OOB_GRADIENTS
        return super().unread(numbers) - ({"gradients"} if kept else set())

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        loss = CTCLossDescriptor(self.normalization, self.gradient_mode, self.max_label_length, self.blank)
        tensors = [arrays[name] for name in self.inputs]
        outputs = {name: arrays.get(name) for name in self.outputs}
        return [*tensors, loss], {**outputs, "costs_only": self.gradients is None}


@dataclass(frozen=True)
class CTCLossDescriptor(Parameters):
    """How :func:`ctc_loss` reads its tensors (cudnnSetCTCLossDescriptor_v9).

    Parameters
    ----------
    normalization
        SOFTMAX: `probs` are what a softmax over the classes takes. NONE: they are the softmax's outputs.
    gradient_mode
        ZERO_OOB_GRADIENTS or SKIP_OOB_GRADIENTS: whether the gradients of a sequence whose label fits into no
        alignment are set to 0, or left as they are.
    max_label_length
        The length of the longest label, for memory; None takes what `labels` has room for.
    blank
        The class between labels (MIOpen's blank_label_id; 0 in cuDNN).

    Raises
    ------
    BadParam
        An unknown mode, or no such length or class.
    """

    normalization: LossNormalizationMode = LossNormalizationMode.SOFTMAX
    gradient_mode: CTCGradMode = CTCGradMode.ZERO_OOB_GRADIENTS
    max_label_length: int | None = None
    blank: int = 0

    @public
    def __post_init__(self) -> None:
        longest = self.max_label_length
        self._set(
            normalization=LossNormalizationMode.parse(self.normalization, "normalization"),
            gradient_mode=CTCGradMode.parse(self.gradient_mode, "gradient_mode"),
            max_label_length=None if longest is None else as_integer(longest, "max_label_length", 0),
            blank=as_integer(self.blank, "blank", 0),
        )

    __hash__ = Parameters.__hash__

    @property
    def params(self) -> tuple[Any, ...]:
        """The values in the order of the CTCLoss Problem's fields."""
        return (self.normalization, self.gradient_mode, self.max_label_length, self.blank)


_PLAIN = CTCLossDescriptor()


@public
def get_ctc_loss_workspace_size(
    handle: Handle,
    probs: Any,
    labels: Any,
    label_lengths: Any,
    input_lengths: Any,
    loss: CTCLossDescriptor = _PLAIN,
    *,
    costs_only: bool = False,
) -> int:
    """Return the bytes of workspace that :func:`ctc_loss` needs (cudnnGetCTCLossWorkspaceSize_v8).

    Parameters
    ----------
    handle, probs, labels, label_lengths, input_lengths, loss, costs_only
        As :func:`ctc_loss` takes them; the tensors may be :class:`TensorSpec` or :class:`TensorDescriptor` objects.
    """
    integers = _on_device(check_handle(handle).device, labels, label_lengths, input_lengths)
    given = (probs, *integers, None, None if _costs_only(costs_only) else probs)
    tensors = [t.spec if isinstance(t, TensorDescriptor) else t for t in given]
    return workspace_size(handle, make_problem(handle, CTCLoss, tensors, _descriptor(loss)))


@computes
def ctc_loss(
    handle: Handle,
    probs: Any,
    labels: Any,
    label_lengths: Any,
    input_lengths: Any,
    loss: CTCLossDescriptor = _PLAIN,
    *,
    costs: Any = None,
    gradients: Any = None,
    costs_only: bool = False,
    workspace: Any = None,
) -> tuple[Any, Any]:
    """Compute the CTC loss of each sequence of a batch, and its gradient (cudnnCTCLoss_v8; Graves et al. 2006).

    Parameters
    ----------
    handle
        Where to compute.
    probs
        Tensor (T, N, C), float16, bfloat16, float32 or float64, of any strides: T steps of N sequences, C classes.
    labels
        int32: one label behind the other in one dim, or (N, longest) with a label at the beginning of each row.
    label_lengths, input_lengths
        int32 (N,): the length of each label, and the steps of each sequence.
        These three are read on the device; lists, and NumPy arrays where they are not the backend's own, are
        copied there. Where a length or a class is out of bounds, the cost is NaN.
    loss
        What `probs` are, the blank, and more.
    costs
        (N,) of the type of `probs`; None allocates it. A label that fits into no alignment, because its length and its
        repetitions exceed the steps, costs infinity.
    gradients
        (T, N, C) of the type of `probs`; None allocates it. They are with respect to what the softmax takes in both
        modes, and 0 for the steps from a sequence's length on.
    costs_only
        Whether to leave out the gradients.
    workspace
        Scratch memory of :func:`get_ctc_loss_workspace_size` bytes; None lets the handle provide it.

    Returns
    -------
    (array, array or None)
        `costs` and `gradients`.

    Raises
    ------
    BadParam
        Dims or types that do not match, a blank that is no class, gradients that share memory with another tensor, or a
        workspace that is too small.
    NotSupported
        An output overlaps itself, or a stride is negative.
    """
    descriptor = _descriptor(loss)
    device = check_handle(handle).device
    integers = _on_device(device, labels, label_lengths, input_lengths)
    if _costs_only(costs_only):
        if gradients is not None:
            raise BadParam(argument="gradients", expected="None with costs_only", got=shown(type(gradients)))
    elif gradients is None:
        (spec, *_) = make_problem(handle, CTCLoss, (probs, *integers, costs, None), descriptor).tensors
        gradients = device.empty(spec.like(spec.dims))
    tensors = (probs, *integers, costs, gradients)
    return execute(handle, CTCLoss, tensors, descriptor, (), workspace=workspace)  # type: ignore[no-any-return]


def _on_device(device: Device, *integers: Any) -> list[Any]:
    names = ("labels", "label_lengths", "input_lengths")
    return [integers_on_device(device, values, name) for values, name in zip(integers, names, strict=True)]


@dataclass(frozen=True)
class HostLabels:
    """Labels in host memory, one behind the other, as cuDNN 7 and MIOpen take them; arrays may be longer than needed.

    Parameters
    ----------
    dims
        Of probs: steps, sequences, classes.
    labels, label_lengths, input_lengths
        Integers.
    names
        What they are called in messages.

    Raises
    ------
    BadParam
        Not enough numbers, or one that is out of bounds.
    """

    dims: tuple[int, ...]
    labels: Any
    label_lengths: Any
    input_lengths: Any
    names: tuple[str, str, str] = ("labels", "labelLengths", "inputLengths")

    def __post_init__(self) -> None:
        if len(self.dims) != 3:
            raise BadParam(argument="probsDesc", expected="dims (T, N, C)", got=self.dims)
        steps, batch, classes = self.dims
        lengths = self._checked(1, self.label_lengths, batch, _MOST_LABELS)
        object.__setattr__(self, "label_lengths", lengths)
        object.__setattr__(self, "input_lengths", self._checked(2, self.input_lengths, batch, steps))
        object.__setattr__(self, "labels", self._checked(0, self.labels, sum(lengths), classes - 1))

    def _checked(self, which: int, values: Any, count: int, most: int) -> tuple[int, ...]:
        name = self.names[which]
        found = as_integers(values, name, 0)[:count] if count or values is not None else ()
        if len(found) < count or max(found, default=0) > most:
            raise BadParam(argument=name, expected=f"{count} integers from 0 to {most}", got=shown(found))
        return found

    @property
    def longest(self) -> int:
        """The length of the longest label."""
        return max(self.label_lengths, default=0)

    def on_device(self, device: Device) -> list[Any]:
        """Return the three as int32 arrays of a device."""
        return _on_device(device, list(self.labels), list(self.label_lengths), list(self.input_lengths))

    @property
    def specs(self) -> list[TensorSpec]:
        """The layouts of these arrays."""
        counts = (max(len(v), 1) for v in (self.labels, self.label_lengths, self.input_lengths))
        return [TensorSpec.packed(DataType.INT32, (count,)) for count in counts]


def _descriptor(value: Any) -> CTCLossDescriptor:
    return value if value is _PLAIN else check_descriptor(value, CTCLossDescriptor, "loss")


def _costs_only(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadParam(argument="costs_only", expected="True or False", got=shown(value))
    return value
