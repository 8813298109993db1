"""The Problems of multi-head attention (cuDNN 7.5)."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...enums import DataType
from ...errors import BadParam, NotSupported
from ...problem import Problem, TensorSpec, check_raw
from ..dropout import STATES_SIZE, DropoutDescriptor
from .descriptor import AttnDescriptor
from .layout import AttnQueryMap, Heads, Reserve

_LETTERS = dict.fromkeys(["q", "k", "v", "out", "dout", "residuals", "dq", "dk", "dv"], ("time", "n", "beam", "number"))
_INTEGERS = ("lengths_q", "lengths_kv", "windows")
_MOST = 2**31  # what places of 32 bits reach


class Attention(Problem):
    """What the three passes share; each declares the fields that it has."""

    scalars: ClassVar[dict[str, float]] = {}
    letters: ClassVar[Mapping[str, tuple[str, ...]]] = _LETTERS
    ranks: ClassVar[dict[str, tuple[int, int]]] = {
        **dict.fromkeys(_LETTERS, (4, 4)),
        **dict.fromkeys(("w", "dw", "lengths_q", "lengths_kv"), (1, 1)),
        "windows": (2, 2),
    }

    q: TensorSpec
    k: TensorSpec
    v: TensorSpec
    heads: int
    scale: float
    q_proj: int
    k_proj: int
    v_proj: int
    o_proj: int
    biases: int
    query_map: AttnQueryMap
    attn_dropout: float
    post_dropout: float
    compute_type: DataType | None

    @functools.cached_property
    def layout(self) -> Heads:
        """The sizes of vectors, and where the parameters lie."""
        sizes = tuple(getattr(self, name).dims[3] for name in "qkv")
        projections = (self.q_proj, self.k_proj, self.v_proj, self.o_proj)
        return Heads(self.heads, sizes, projections, bool(self.biases))

    @functools.cached_property
    def kept(self) -> Reserve:
        """The reserve space's layout."""
        rows = self.sequences[0] * self.steps[0], self.sequences[1] * self.steps[1]
        return Reserve(self.layout, rows, self.dtype)

    @property
    def steps(self) -> tuple[int, int]:
        """Steps of queries, and of keys and values."""
        return self.q.dims[0], self.k.dims[0]

    @property
    def beams(self) -> tuple[int, int]:
        """Beams of queries, and of keys and values."""
        return self.q.dims[2], self.k.dims[2]

    @property
    def batch(self) -> int:
        return self.q.dims[1]

    @property
    def sequences(self) -> tuple[int, int]:
        """Sequences of queries, and of keys and values."""
        return self.batch * self.beams[0], self.batch * self.beams[1]

    @property
    def dtype(self) -> DataType:
        return self.q.dtype

    def types(self, name: str) -> tuple[DataType, ...]:
        return (DataType.INT32,) if name in _INTEGERS else super().types(name)

    def validate(self) -> None:
        super().validate()
        self._check_parameters()
        self._check_sequences()
        for name, spec in zip(self.names, self.tensors, strict=True):
            if name in self.raw or name in _INTEGERS:
                continue
            if spec.dtype is not self.dtype:
                raise BadParam(argument=f"{name}.dtype", expected=f"{self.dtype} as q", got=spec.dtype)
            wanted = self._wanted(name)
            if spec.dims != wanted:
                raise BadParam(argument=f"{name}.dims", expected=f"{wanted}", got=spec.dims)
            if name in ("w", "dw") and not spec.is_packed():
                raise BadParam(argument=f"{name}.strides", expected="packed parameters", got=spec.strides)
        self._check_integers()
        if self.layout.size and "w" in self.inputs and getattr(self, "w", None) is None:
            raise BadParam(argument="w", expected=f"{self.layout.size} parameters", got=None)
        if getattr(self, "reserve", None) is not None:
            check_raw(self.reserve, "reserve", self.kept.size)  # type: ignore[attr-defined]

    def _check_parameters(self) -> None:
        if self.heads < 1:
            raise BadParam(argument="attn.heads", expected="an integer >= 1", got=self.heads)
        if not self.scale >= 0 or math.isinf(self.scale):
            raise BadParam(argument="attn.scale", expected="a finite number >= 0", got=self.scale)
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            if getattr(self, name) < 0:
                raise BadParam(argument=f"attn.{name}", expected="a size, or 0", got=getattr(self, name))
        if self.biases not in (0, 1):
            raise BadParam(argument="attn.biases", expected="0 or 1", got=self.biases)
        for name in ("attn_dropout", "post_dropout"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadParam(argument=f"attn.{name}", expected="a probability, 0 to 1", got=getattr(self, name))
        if self.compute_type not in (None, self.dtype.accumulator):
            raise NotSupported(
                argument="attn.compute_type",
                expected=f"{self.dtype.accumulator} for {self.dtype} data",
                got=self.compute_type,
            )

    def _check_sequences(self) -> None:
        if min(self.q.dims) < 1:
            raise BadParam(argument="q.dims", expected="sizes >= 1", got=self.q.dims)
        beams = self.beams[0] if self.query_map is AttnQueryMap.ONE_TO_ONE else 1
        wanted = (self.batch, beams)
        if self.k.dims[1:3] != wanted or min(self.k.dims) < 1:
            raise BadParam(
                argument="k.dims", expected=f"(steps, {self.batch}, {beams}, numbers), all >= 1", got=self.k.dims
            )
        if self.v.dims[:3] != self.k.dims[:3] or self.v.dims[3] < 1:
            raise BadParam(argument="v.dims", expected=f"{self.k.dims[:3]} and a size >= 1", got=self.v.dims)
        layout = self.layout
        if layout.head(0) != layout.head(1):
            raise BadParam(
                argument="attn.k_proj", expected=f"keys of {layout.head(0)} numbers as queries", got=layout.head(1)
            )
        most = max(self.kept.size // self.dtype.itemsize, layout.size)
        if most > _MOST:
            raise NotSupported(argument="q", expected="at most 2 Gi numbers in a reserve space", got=most)

    def _wanted(self, name: str) -> tuple[int, ...]:
        if name in ("w", "dw"):
            return (self.layout.size,)
        if name in ("out", "dout", "residuals"):
            return (*self.q.dims[:3], self.layout.out)
        return getattr(self, name[-1]).dims  # type: ignore[no-any-return]

    def _check_integers(self) -> None:
        for side, name in enumerate(("lengths_q", "lengths_kv")):
            spec = getattr(self, name, None)
            if spec is not None and spec.dims != (self.sequences[side],):
                raise BadParam(argument=f"{name}.dims", expected=f"({self.sequences[side]},)", got=spec.dims)
        windows = getattr(self, "windows", None)
        if windows is not None and windows.dims != (2, self.steps[0]):
            raise BadParam(argument="windows.dims", expected=f"(2, {self.steps[0]})", got=windows.dims)

    def flops(self) -> int:
        layout, (many, other) = self.layout, self.sequences
        rows, columns = many * self.steps[0], other * self.steps[1]
        products = rows * self.steps[1] * layout.heads * (layout.head(0) + layout.head(2))
        sizes = [layout.shape(which)[0] * layout.shape(which)[1] for which in range(4)]
        return 2 * (products + rows * (sizes[0] + sizes[3]) + columns * (sizes[1] + sizes[2]))

    def reduction_length(self, output: str) -> int:
        layout = self.layout
        longest = max(*layout.sizes, layout.merged, *self.steps, layout.out)
        return longest * (max(self.sequences) if output == "dw" else 1) + layout.head(0)

    def _descriptor(self, arrays: Mapping[str, Any]) -> Any:
        attention, post = (
            DropoutDescriptor(p, arrays.get(states)) if p else None
            for p, states in ((self.attn_dropout, "attn_states"), (self.post_dropout, "post_states"))
        )
        sizes = (self.q_proj, self.k_proj, self.v_proj, self.o_proj)
        how = (self.query_map, attention, post, self.compute_type)
        return AttnDescriptor(self.heads, self.scale, *sizes, bool(self.biases), *how)


def _fill(problem: type[Attention], values: dict[str, Any], wanted: str) -> None:
    """Fill in the outputs or the reserve space, where the rest says what they are."""
    if not {"q", "k", "v", "heads"} <= values.keys() or any(len(values[n].dims) != 4 for n in "qkv"):
        return
    shaped = object.__new__(_Shaped)
    defaults = {name: getattr(problem, name, None) for name in PARAMETERS}
    shaped.__dict__.update({**defaults, **{n: v for n, v in values.items() if n in (*PARAMETERS, "q", "k", "v")}})
    if shaped.heads < 1 or min(min(values[n].dims) for n in "qkv") < 0:
        return  # `validate` will tell what is wrong
    if wanted == "reserve":
        values["reserve"] = TensorSpec(DataType.UINT8, (shaped.kept.size,), (1,))
    else:
        values[wanted] = values["q"].like((*values["q"].dims[:3], shaped.layout.out))


PARAMETERS = (
    "heads",
    "scale",
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "biases",
    "query_map",
    "attn_dropout",
    "post_dropout",
    "compute_type",
)


@dataclass(frozen=True)
class MultiHeadAttnForward(Attention):
    """out of queries, keys and values; with `reserve` it is training, whose dropouts have random states."""

    op: ClassVar[str] = "multi_head_attn_forward"
    rounds_between: ClassVar[bool] = True
    inputs: ClassVar[tuple[str, ...]] = ("q", "k", "v", "w", "residuals", "lengths_q", "lengths_kv", "windows")
    outputs: ClassVar[tuple[str, ...]] = ("out", "reserve", "attn_states", "post_states")
    absent: ClassVar[tuple[str, ...]] = (
        *("w", "residuals", "lengths_q", "lengths_kv", "windows"),
        *("reserve", "attn_states", "post_states"),
    )
    raw: ClassVar[tuple[str, ...]] = ("reserve", "attn_states", "post_states")

    q: TensorSpec
    k: TensorSpec
    v: TensorSpec
    out: TensorSpec
    heads: int
    w: TensorSpec | None = None
    residuals: TensorSpec | None = None
    lengths_q: TensorSpec | None = None
    lengths_kv: TensorSpec | None = None
    windows: TensorSpec | None = None
    reserve: TensorSpec | None = None
    attn_states: TensorSpec | None = None
    post_states: TensorSpec | None = None
    scale: float = 1.0
    q_proj: int = 0
    k_proj: int = 0
    v_proj: int = 0
    o_proj: int = 0
    biases: int = 0
    query_map: AttnQueryMap = AttnQueryMap.ALL_TO_ONE
    attn_dropout: float = 0.0
    post_dropout: float = 0.0
    compute_type: DataType | None = None

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        if "out" not in values:
            _fill(cls, values, "out")

    def validate(self) -> None:
        super().validate()
        for probability, name in ((self.attn_dropout, "attn_states"), (self.post_dropout, "post_states")):
            needed, states = self.reserve is not None and probability > 0, getattr(self, name)
            if needed and states is None:
                raise BadParam(argument=name, expected="the states of the dropout descriptor", got=None)
            if states is not None:
                if not needed:
                    raise BadParam(argument=name, expected="None: nothing is dropped", got=str(states))
                check_raw(states, name, STATES_SIZE)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return {"out", "reserve"} & set(self.names)

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        names = ("residuals", "lengths_q", "lengths_kv", "windows", "out", "reserve")
        options = {name: arrays.get(name) for name in names}
        return [arrays["q"], arrays["k"], arrays["v"], arrays.get("w"), self._descriptor(arrays)], options


@dataclass(frozen=True)
class MultiHeadAttnBackwardData(Attention):
    """dq, dk and dv of dout; `reserve` is what the forward pass kept, and then what backward weights needs."""

    op: ClassVar[str] = "multi_head_attn_backward_data"
    rounds_between: ClassVar[bool] = True
    inputs: ClassVar[tuple[str, ...]] = ("dout", "q", "k", "v", "w", "lengths_q", "lengths_kv", "windows")
    outputs: ClassVar[tuple[str, ...]] = ("dq", "dk", "dv", "reserve")
    absent: ClassVar[tuple[str, ...]] = ("w", "lengths_q", "lengths_kv", "windows")
    raw: ClassVar[tuple[str, ...]] = ("reserve",)

    dout: TensorSpec
    q: TensorSpec
    k: TensorSpec
    v: TensorSpec
    dq: TensorSpec
    dk: TensorSpec
    dv: TensorSpec
    reserve: TensorSpec
    heads: int
    w: TensorSpec | None = None
    lengths_q: TensorSpec | None = None
    lengths_kv: TensorSpec | None = None
    windows: TensorSpec | None = None
    scale: float = 1.0
    q_proj: int = 0
    k_proj: int = 0
    v_proj: int = 0
    o_proj: int = 0
    biases: int = 0
    query_map: AttnQueryMap = AttnQueryMap.ALL_TO_ONE
    attn_dropout: float = 0.0
    post_dropout: float = 0.0
    compute_type: DataType | None = None

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        for name in "qkv":
            if name in values:
                values.setdefault(f"d{name}", values[name].like(values[name].dims))
        if "dout" not in values:
            _fill(cls, values, "dout")
        if "reserve" not in values:
            _fill(cls, values, "reserve")

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return {"dq", "dk", "dv"}

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        options = {
            name: arrays.get(name) for name in ("lengths_q", "lengths_kv", "windows", "dq", "dk", "dv", "reserve")
        }
        tensors = [arrays.get(name) for name in ("dout", "q", "k", "v", "w")]
        return [*tensors, self._descriptor(arrays)], options


@dataclass(frozen=True)
class MultiHeadAttnBackwardWeights(Attention):
    """dw += the gradient of the parameters, of dout and what backward data left in `reserve`."""

    op: ClassVar[str] = "multi_head_attn_backward_weights"
    inputs: ClassVar[tuple[str, ...]] = ("q", "k", "v", "dout", "reserve", "lengths_q", "lengths_kv")
    outputs: ClassVar[tuple[str, ...]] = ("dw",)
    absent: ClassVar[tuple[str, ...]] = ("lengths_q", "lengths_kv")
    raw: ClassVar[tuple[str, ...]] = ("reserve",)

    q: TensorSpec
    k: TensorSpec
    v: TensorSpec
    dout: TensorSpec
    reserve: TensorSpec
    dw: TensorSpec
    heads: int
    lengths_q: TensorSpec | None = None
    lengths_kv: TensorSpec | None = None
    scale: float = 1.0
    q_proj: int = 0
    k_proj: int = 0
    v_proj: int = 0
    o_proj: int = 0
    biases: int = 0
    query_map: AttnQueryMap = AttnQueryMap.ALL_TO_ONE
    attn_dropout: float = 0.0
    post_dropout: float = 0.0
    compute_type: DataType | None = None

    @classmethod
    def complete(cls, values: dict[str, Any]) -> None:
        for name in ("dout", "reserve"):
            if name not in values:
                _fill(cls, values, name)

    def unread(self, numbers: Mapping[str, float]) -> set[str]:
        return set()

    def call_arguments(self, arrays: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        options = {name: arrays.get(name) for name in ("lengths_q", "lengths_kv")}
        tensors = [arrays[name] for name in ("q", "k", "v", "dout", "reserve")]
        return [*tensors, self._descriptor(arrays), arrays["dw"]], options


class _Shaped(Attention):
    """Enough of a problem to know its sizes."""
