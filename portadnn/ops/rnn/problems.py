"""The Problems of recurrent networks (guide sections 4.107 to 4.110)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...enums import DataType
from ...errors import BadParam, NotSupported
from ...problem import Problem, TensorSpec, check_raw
from ..dropout import STATES_SIZE, DropoutDescriptor
from .descriptor import RNNDescriptor, check_projection
from .layout import DirectionMode, Network, Reserve, RNNBiasMode, RNNInputMode, RNNMode, Sequence


class RNN(Problem):
    """What the four passes share; each declares the fields that it has.

    Attributes
    ----------
    wide : str
        The tensor whose dims tell the steps: x, or y of backward data.
    """

    scalars: ClassVar[dict[str, float]] = {}
    wide: ClassVar[str] = "x"
    rounds_between: ClassVar[bool] = True
    letters: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ["x", "dx", "y", "dy", "w", "dw", "hx", "cx", "hy", "cy", "dhx", "dcx", "dhy", "dcy"], ("layer", "n", "h")
    )

    w: TensorSpec | None
    hidden_size: int
    num_layers: int
    mode: RNNMode
    direction: DirectionMode
    input_mode: RNNInputMode
    dropout: float
    compute_type: DataType | None
    bias_mode: RNNBiasMode
    clip_min: float | None
    clip_max: float | None
    proj_size: int
    batch_sizes: tuple[int, ...]

    @functools.cached_property
    def sequence(self) -> Sequence:
        """The steps."""
        dims = getattr(self, self.wide).dims
        return Sequence(self.batch_sizes or (dims[1],) * dims[0])

    @functools.cached_property
    def network(self) -> Network:
        """The layers."""
        return network_of(self, self.data.dims[1 if self.batch_sizes else 2])

    @property
    def data(self) -> TensorSpec:
        """The input or its gradient."""
        return getattr(self, "x", None) or self.dx  # type: ignore[attr-defined,no-any-return]

    @property
    def training(self) -> bool:
        """Whether a reserve space belongs to the pass."""
        return "reserve" in self.raw

    @functools.cached_property
    def kept(self) -> Reserve:
        """The reserve space's layout."""
        return Reserve(self.network, self.sequence.rows, drops(self.dropout, self.num_layers))

    @property
    def dtype(self) -> DataType:
        return self.data.dtype

    def validate(self) -> None:
        super().validate()
        self._check_parameters()
        self._check_steps()
        self._check_tensors()
        if self.training:
            size = self.kept.size * self.dtype.accumulator.itemsize
            check_raw(self.reserve, "reserve", size)  # type: ignore[attr-defined]

    def _check_parameters(self) -> None:
        for name in ("hidden_size", "num_layers"):
            if getattr(self, name) < 1:
                raise BadParam(argument=f"rnn.{name}", expected="an integer >= 1", got=getattr(self, name))
        if not 0 <= self.dropout <= 1:
            raise BadParam(argument="rnn.dropout", expected="a probability, 0 to 1", got=self.dropout)
        if self.compute_type not in (None, self.dtype.accumulator):
            raise NotSupported(
                argument="rnn.compute_type",
                expected=f"{self.dtype.accumulator} for {self.dtype} data",
                got=self.compute_type,
            )

        if (self.clip_min is None) != (self.clip_max is None):
            raise BadParam(argument="rnn.clip_min", expected="clip_max with it, or neither", got=self.clip_min)
        if self.clip is not None and not self.clip[0] <= self.clip[1]:
            raise BadParam(argument="rnn.clip_min", expected=f"at most clip_max, {self.clip_max}", got=self.clip_min)
        check_projection(self.proj_size, self.hidden_size, self.mode, "rnn.")

    @property
    def clip(self) -> tuple[float, float] | None:
        """The limits of an LSTM's cells; other networks have none."""
        if self.clip_min is None or self.clip_max is None or self.mode is not RNNMode.LSTM:
            return None
        return self.clip_min, self.clip_max

    def _check_steps(self) -> None:
        name, dims, batches = self.wide, getattr(self, self.wide).dims, self.batch_sizes
        if len(dims) != 3:
            raise BadParam(argument=f"{name}.dims", expected="3 dims", got=dims)
        if not batches:
            if dims[0] < 1 or dims[2] < 1:
                raise BadParam(argument=f"{name}.dims", expected="at least one step and one feature", got=dims)
            return
        if min(batches) < 1:
            raise BadParam(argument="batch_sizes", expected="numbers >= 1", got=batches)
        if any(later > earlier for earlier, later in itertools.pairwise(batches)):
            raise BadParam(argument="batch_sizes", expected="numbers that never increase", got=batches)
        if dims[0] != sum(batches) or dims[1] < 1 or dims[2] != 1:
            raise BadParam(argument=f"{name}.dims", expected=f"({sum(batches)}, features, 1)", got=dims)

    def _check_tensors(self) -> None:
        for name, spec in zip(self.names, self.tensors, strict=True):
            if name in self.raw:
                continue
            if spec.dtype is not self.dtype:
                raise BadParam(argument=f"{name}.dtype", expected=f"{self.dtype} as {self.names[0]}", got=spec.dtype)
            if not spec.is_packed():
                raise BadParam(argument=f"{name}.strides", expected="a packed tensor", got=spec.strides)
        if self.input_mode is RNNInputMode.SKIP_INPUT and self.network.features != self.hidden_size:
            raise BadParam(
                argument="x" if "x" in self.names else "dx",
                expected=f"{self.hidden_size} features, the hidden size, because input_mode is SKIP_INPUT",
                got=self.network.features,
            )
        for name, spec in zip(self.names, self.tensors, strict=True):
            self._check_dims(name, spec)

    def _check_dims(self, name: str, spec: TensorSpec) -> None:
        network, sequence = self.network, self.sequence
        if name in ("w", "dw"):
            if spec.size != network.size:
                raise BadParam(argument=f"{name}.dims", expected=f"{network.size} parameters", got=spec.dims)
            return
        if name in self.raw:
            return
        if name in ("x", "dx", "y", "dy"):
            wanted = steps_dims(self, network.features if name in ("x", "dx") else network.width)
        else:
            numbers = network.hidden if "c" in name else network.output
            wanted = (network.layers * network.directions, sequence.batch, numbers)
            if "c" in name and self.mode is not RNNMode.LSTM:
                raise BadParam(argument=name, expected="None: only an LSTM has cells", got=str(spec))
        if spec.dims != wanted:
            raise BadParam(argument=f"{name}.dims", expected=f"{wanted}", got=spec.dims)
        slots = network.mode.slots * network.units * sequence.rows
        if slots > MOST_GATES:
            raise NotSupported(argument=name, expected="at most 2 Gi gates in all", got=slots)

    def flops(self) -> int:
        """Count the matrix products of one pass over the sequences."""
        network = self.network
        biases = network.size - network.bias(0, 0, False)
        return 2 * self.sequence.rows * (network.size - biases)

    def reduction_length(self, output: str) -> int:
        return max(self.network.features, self.network.width) + self.network.hidden

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        dropout = DropoutDescriptor(self.dropout, arrays.get("states")) if self.dropout else None
        words = (self.hidden_size, self.num_layers, self.mode, self.direction, self.input_mode, dropout)
        tensors = [arrays.get(name) for name in self.tensor_names() if name != "states"]
        place = len(self.inputs)
        more = {"batch_sizes": self.batch_sizes} if self.batch_sizes else {}
        clip = None if self.clip_min is None or self.clip_max is None else (self.clip_min, self.clip_max)
        rnn = RNNDescriptor(*words, self.compute_type, self.bias_mode, clip, self.proj_size)
        return [*tensors[:place], rnn, *tensors[place:]], more


def drops(dropout: float, layers: int) -> bool:
    """Tell whether training drops anything: there are outputs between layers."""
    return dropout > 0 and layers > 1


def network_of(rnn: Any, features: int) -> Network:
    """Return the layers of a descriptor or a problem, for that many features."""
    directions = 2 if rnn.direction is DirectionMode.BIDIRECTIONAL else 1
    skip = rnn.input_mode is RNNInputMode.SKIP_INPUT
    return Network(rnn.mode, rnn.hidden_size, rnn.num_layers, directions, features, skip, rnn.bias_mode, rnn.proj_size)


def steps_dims(problem: RNN, features: int) -> tuple[int, int, int]:
    """Return the dims of a tensor with that many features in every step."""
    if problem.batch_sizes:
        return (problem.sequence.rows, features, 1)
    return (len(problem.sequence.batches), problem.sequence.batch, features)


def _like(values: dict[str, Any], source: str, name: str, features: int) -> None:
    """Fill in a tensor with the steps of another."""
    dims = values[source].dims
    if len(dims) == 3 and name not in values:
        values[name] = values[source].like(
            (dims[0], features, 1) if values.get("batch_sizes") else (*dims[:2], features)
        )


def _fill_reserve(problem: type[RNN], values: dict[str, Any]) -> None:
    """Fill in a reserve space of the size that is needed, where the rest says it."""
    wanted = {"hidden_size", problem.wide, "x" if problem.wide == "x" else "dx"}
    if "reserve" in values or not wanted <= values.keys():
        return
    defaults = {name: getattr(problem, name) for name in PARAMETERS[1:]}
    spec = values["x" if problem.wide == "x" else "dx"]
    try:
        shaped = _Shaped(spec, {**defaults, **values})
        size = shaped.kept.size * spec.dtype.accumulator.itemsize
    except (IndexError, BadParam):
        return  # `validate` will tell what is wrong
    values["reserve"] = TensorSpec(DataType.UINT8, (size,), (1,))


MOST_GATES = 2**31  # what places of 32 bits reach
PARAMETERS = (
    "hidden_size",
    "num_layers",
    "mode",
    "direction",
    "input_mode",
    "dropout",
    "compute_type",
    "bias_mode",
    "clip_min",
    "clip_max",
    "proj_size",
    "batch_sizes",
)


class _Shaped:
    """Enough of a problem to know its reserve space."""

    def __init__(self, spec: TensorSpec, values: dict[str, Any]) -> None:
        self.__dict__.update({name: values[name] for name in PARAMETERS})
        batches = values["batch_sizes"]
        if len(spec.dims) != 3 or min(spec.dims) < 0:
            raise BadParam(argument="x.dims", expected="3 dims", got=spec.dims)
        network = network_of(self, spec.dims[1 if batches else 2])
        rows = spec.dims[0] if batches else spec.dims[0] * spec.dims[1]
        self.kept = Reserve(network, rows, drops(values["dropout"], network.layers))


def _width(values: dict[str, Any]) -> int:
    both = values.get("direction") is DirectionMode.BIDIRECTIONAL
    return int(values.get("proj_size") or values["hidden_size"]) * (2 if both else 1)


class _Forward(RNN):
    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if {"x", "hidden_size"} <= values.keys():
            _like(values, "x", "y", _width(values))
        if "reserve" in cls.raw:
            _fill_reserve(cls, values)


@dataclass(frozen=True)
class RNNForwardInference(_Forward):
    """y, hy, cy of x, from hx and cx, with parameters w."""

    op: ClassVar[str] = "rnn_forward_inference"
    inputs: ClassVar[tuple[str, ...]] = ("x", "hx", "cx", "w")
    outputs: ClassVar[tuple[str, ...]] = ("y", "hy", "cy")
    absent: ClassVar[tuple[str, ...]] = ("hx", "cx", "hy", "cy")

    x: TensorSpec
    w: TensorSpec
    y: TensorSpec
    hidden_size: int
    hx: TensorSpec | None = None
    cx: TensorSpec | None = None
    hy: TensorSpec | None = None
    cy: TensorSpec | None = None
    num_layers: int = 1
    mode: RNNMode = RNNMode.LSTM
    direction: DirectionMode = DirectionMode.UNIDIRECTIONAL
    input_mode: RNNInputMode = RNNInputMode.LINEAR_INPUT
    dropout: float = 0.0
    compute_type: DataType | None = None
    bias_mode: RNNBiasMode = RNNBiasMode.DOUBLE_BIAS
    clip_min: float | None = None
    clip_max: float | None = None
    proj_size: int = 0
    batch_sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class RNNForwardTraining(_Forward):
    """The same, and what the gradients need goes to `reserve`; dropout between layers has its random `states`."""

    op: ClassVar[str] = "rnn_forward_training"
    inputs: ClassVar[tuple[str, ...]] = ("x", "hx", "cx", "w")
    outputs: ClassVar[tuple[str, ...]] = ("y", "hy", "cy", "reserve", "states")
    absent: ClassVar[tuple[str, ...]] = ("hx", "cx", "hy", "cy", "states")
    raw: ClassVar[tuple[str, ...]] = ("reserve", "states")

    x: TensorSpec
    w: TensorSpec
    y: TensorSpec
    reserve: TensorSpec
    hidden_size: int
    hx: TensorSpec | None = None
    cx: TensorSpec | None = None
    hy: TensorSpec | None = None
    cy: TensorSpec | None = None
    states: TensorSpec | None = None
    num_layers: int = 1
    mode: RNNMode = RNNMode.LSTM
    direction: DirectionMode = DirectionMode.UNIDIRECTIONAL
    input_mode: RNNInputMode = RNNInputMode.LINEAR_INPUT
    dropout: float = 0.0
    compute_type: DataType | None = None
    bias_mode: RNNBiasMode = RNNBiasMode.DOUBLE_BIAS
    clip_min: float | None = None
    clip_max: float | None = None
    proj_size: int = 0
    batch_sizes: tuple[int, ...] = ()

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        super().complete(values)
        if drops(values.get("dropout", 0.0), values.get("num_layers", 1)):
            values.setdefault("states", TensorSpec(DataType.UINT8, (STATES_SIZE,), (1,)))

    def validate(self) -> None:
        super().validate()
        needed = drops(self.dropout, self.num_layers)
        if needed and self.states is None:
            raise BadParam(argument="states", expected="the states of the dropout descriptor", got=None)
        if self.states is not None:
            if not needed:
                raise BadParam(argument="states", expected="None: nothing is dropped", got=str(self.states))
            check_raw(self.states, "states", STATES_SIZE)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return {"y", "hy", "cy", "reserve"} & set(self.names)


@dataclass(frozen=True)
class RNNBackwardData(RNN):
    """dx, dhx, dcx of dy, dhy, dcy; `reserve` is what the forward pass kept, and then what backward weights needs."""

    op: ClassVar[str] = "rnn_backward_data"
    inputs: ClassVar[tuple[str, ...]] = ("y", "dy", "dhy", "dcy", "w", "hx", "cx")
    outputs: ClassVar[tuple[str, ...]] = ("dx", "dhx", "dcx", "reserve")
    absent: ClassVar[tuple[str, ...]] = ("dhy", "dcy", "hx", "cx", "dhx", "dcx")
    raw: ClassVar[tuple[str, ...]] = ("reserve",)
    wide: ClassVar[str] = "y"

    y: TensorSpec
    dy: TensorSpec
    w: TensorSpec
    dx: TensorSpec
    reserve: TensorSpec
    hidden_size: int
    dhy: TensorSpec | None = None
    dcy: TensorSpec | None = None
    hx: TensorSpec | None = None
    cx: TensorSpec | None = None
    dhx: TensorSpec | None = None
    dcx: TensorSpec | None = None
    num_layers: int = 1
    mode: RNNMode = RNNMode.LSTM
    direction: DirectionMode = DirectionMode.UNIDIRECTIONAL
    input_mode: RNNInputMode = RNNInputMode.LINEAR_INPUT
    dropout: float = 0.0
    compute_type: DataType | None = None
    bias_mode: RNNBiasMode = RNNBiasMode.DOUBLE_BIAS
    clip_min: float | None = None
    clip_max: float | None = None
    proj_size: int = 0
    batch_sizes: tuple[int, ...] = ()

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "y" in values:
            values.setdefault("dy", values["y"])
        features = features_of(values)
        if "y" in values and features:
            _like(values, "y", "dx", features)
        _fill_reserve(cls, values)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return {"dx", "dhx", "dcx"} & set(self.names)

    def reduction_length(self, output: str) -> int:
        return self.network.directions * self.network.mode.gates * self.network.hidden


@dataclass(frozen=True)
class RNNBackwardWeights(RNN):
    """dw += the gradient of the parameters, from what backward data left in `reserve`."""

    op: ClassVar[str] = "rnn_backward_weights"
    inputs: ClassVar[tuple[str, ...]] = ("x", "hx", "y", "reserve")
    outputs: ClassVar[tuple[str, ...]] = ("dw",)
    absent: ClassVar[tuple[str, ...]] = ("hx",)
    raw: ClassVar[tuple[str, ...]] = ("reserve",)

    x: TensorSpec
    y: TensorSpec
    reserve: TensorSpec
    dw: TensorSpec
    hidden_size: int
    hx: TensorSpec | None = None
    num_layers: int = 1
    mode: RNNMode = RNNMode.LSTM
    direction: DirectionMode = DirectionMode.UNIDIRECTIONAL
    input_mode: RNNInputMode = RNNInputMode.LINEAR_INPUT
    dropout: float = 0.0
    compute_type: DataType | None = None
    bias_mode: RNNBiasMode = RNNBiasMode.DOUBLE_BIAS
    clip_min: float | None = None
    clip_max: float | None = None
    proj_size: int = 0
    batch_sizes: tuple[int, ...] = ()

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if {"x", "hidden_size"} <= values.keys():
            _like(values, "x", "y", _width(values))
        _fill_reserve(cls, values)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return set()

    def reduction_length(self, output: str) -> int:
        return self.sequence.rows + 1


def features_of(values: dict[str, Any]) -> int | None:
    """Return the features of the input, which the number of parameters tells; None where it fits none."""
    if not {"w", "hidden_size"} <= values.keys():
        return None
    if values.get("input_mode") is RNNInputMode.SKIP_INPUT:
        return int(values["hidden_size"])
    names = ("mode", "direction", "input_mode", "num_layers", "bias_mode", "proj_size")
    shaped = type("Shaped", (), {name: values.get(name, getattr(RNNBackwardData, name)) for name in names})
    shaped.hidden_size = values["hidden_size"]  # type: ignore[attr-defined]
    none, one = (network_of(shaped, features).size for features in (0, 1))
    if none == one:  # no hidden units
        return None
    features, rest = divmod(values["w"].size - none, one - none)
    return features if features > 0 and not rest else None
