"""Nodes of random graphs that compute elements one by one, move them, or add them up."""

from __future__ import annotations

import math
from typing import Any

from ...graph.enums import pointwise_mode as mode
from ...graph.enums import reduction_mode, reshape_mode, rng_distribution
from ...graph.pointwise_modes import MODES
from .graph_draw import TAME, Drawing, Value

SMOOTH = ("RELU_FWD", "TANH_FWD", "SIGMOID_FWD", "ELU_FWD", "SWISH_FWD", "ABS", "NEG", "IDENTITY")
WRITTEN = ("GELU_FWD", "GELU_APPROX_TANH_FWD", "SOFTPLUS_FWD", "ERF", "SIN", "COS")  # without operations of their own
POSITIVE = ("SQRT", "RSQRT", "RECIPROCAL", "LOG")
SHARP = ("CEIL", "FLOOR", "LOGICAL_NOT", "TAN")  # jump: of numbers that have the same bits everywhere
BINARY = ("ADD", "SUB", "MUL", "MAX", "MIN", "ADD_SQUARE")
COMPARING = tuple(member.name for member, facts in MODES.items() if facts.logical and facts.operands == 2)
GRADIENTS = tuple(member.name for member, facts in MODES.items() if facts.backward and member is not mode.RELU_BWD)
KEEPING = {"ABS", "NEG", "IDENTITY", "MAX", "MIN", "CEIL", "FLOOR", "GEN_INDEX", "BINARY_SELECT", "MOD"}
SIZES = {"TANH_FWD": 1.0, "SIGMOID_FWD": 1.0, "ERF": 1.0, "SIN": 1.0, "COS": 1.0, "RSQRT": 1.5, "RECIPROCAL": 2.0}


class PointwiseNodes(Drawing):
    """What computes, moves and adds up elements."""

    def pointwise(self, name: str, *operands: Value | float, size: float = 0.0, **parameters: Any) -> Value | None:
        """Add a node of a mode."""
        values = [one for one in operands if isinstance(one, Value)]
        logical = MODES[mode[name]].logical
        exact = (name in KEEPING or logical) and all(one.exact for one in values)
        size = SIZES.get(name, size or max(1.0, *(one.size for one in values)))
        inputs = {f"IN_{i}": one for i, one in enumerate(operands)}
        types = {"OUT_0": "BOOLEAN"} if logical and self.draws.one_in(2) and not self.plain else None
        made = self.node("pointwise", inputs, {"mode": mode[name], **parameters}, types=types, exact=exact, size=size)
        return made.get("OUT_0")

    def _parameters(self, name: str) -> dict[str, Any]:
        """Return parameters of a mode, now and then."""
        known = MODES[mode[name]].parameters
        if not known or self.draws.one_in(2):
            return {}
        if "axis" in known or len(known) == 1:
            return {parameter: self.draws.choice((0.5, 1.5, 2.0)) for parameter in known if parameter != "axis"}
        found = {"relu_lower_clip_slope": 0.25, "relu_lower_clip": -0.5, "relu_upper_clip": 1.5}
        return {key: value for key, value in found.items() if self.draws.one_in(2)}

    def _positive(self) -> Value:
        """Return numbers of at least a half."""
        found = self.pointwise("ABS", self.any(floats=True))
        assert found is not None
        more = self.pointwise("ADD", found, 0.5, size=found.size + 0.5)
        assert more is not None
        return more

    def unary(self) -> None:
        """Add a mode of one operand."""
        name = self.draws.choice(SMOOTH)
        self.pointwise(name, self.any(), **self._parameters(name))

    def written(self) -> None:
        """Add a mode of one operand without an operation of portadnn's."""
        name = self.draws.choice(WRITTEN)
        self.pointwise(name, self.any(), **self._parameters(name))

    def positive(self) -> None:
        """Add a mode of which an operand has to be positive."""
        if not self.draws.one_in(3):
            self.pointwise(self.draws.choice(POSITIVE), self._positive())
            return
        below = self._positive()
        above = self.fit(below.dims)
        if self.draws.one_in(2):
            self.pointwise("DIV", above, below, size=2 * above.size)
        elif below.size < 10:
            power = self.pointwise("TANH_FWD", above)
            if power is not None:
                self.pointwise("POW", below, power, size=below.size)

    def exponential(self) -> None:
        """Add exponentials of small numbers."""
        x = self.any(most=8)
        self.pointwise("EXP", x, size=math.exp(x.size))

    def sharp(self) -> None:
        """Add what jumps."""
        name = self.draws.choice(SHARP)
        self.pointwise(name, self.any(exact=True), size=1e6 if name == "TAN" else 0.0)

    def scalar(self) -> None:
        """Join a tensor and a number."""
        x, factor = self.any(), self.draws.integers(-3, 4) / 2
        name = self.draws.choice(("ADD", "MUL", "SUB", "MAX", "MIN"))
        pair = (x, factor) if self.draws.one_in(2) else (factor, x)
        self.pointwise(name, *pair, size=2 * x.size)

    def _pair(self, *, exact: bool = False) -> tuple[Value, Value]:
        """Return two operands, one of which may be broadcast."""
        x = self.any(exact=exact)
        if self.draws.one_in(2):
            y = self.fit(x.dims, exact=exact)
        else:
            dims = tuple(1 if self.draws.one_in(2) else d for d in x.dims)
            y = self.fit(dims[self.draws.integers(len(dims)) :] if self.draws.one_in(4) else dims, exact=exact)
        return (x, y) if self.draws.one_in(2) else (y, x)

    def binary(self) -> None:
        """Add a mode of two operands."""
        x, y = self._pair()
        name = self.draws.choice(BINARY)
        sizes = {"MUL": x.size * y.size, "ADD_SQUARE": x.size + y.size**2, "ADD": x.size + y.size}
        self.pointwise(name, x, y, size=sizes.get(name, x.size + y.size))

    def compare(self) -> None:
        """Compare, or tell what is true of both."""
        x, y = self._pair(exact=True)
        self.pointwise(self.draws.choice((*COMPARING, "MOD")), x, y)

    def select(self) -> None:
        """Take one or the other by a mask."""
        x, y = self._pair()
        mask = self.fit(x.dims if math.prod(x.dims) >= math.prod(y.dims) else y.dims, exact=True)
        self.pointwise("BINARY_SELECT", x, y, mask)

    def index(self) -> None:
        """Count places along an axis."""
        x = self.any()
        self.pointwise("GEN_INDEX", x, axis=self.draws.integers(len(x.dims)), size=65.0)

    def gradient(self) -> None:
        """Add the gradient of an activation."""
        jumps = self.draws.one_in(4)
        x = self.any(exact=jumps)
        name = "RELU_BWD" if jumps else self.draws.choice(GRADIENTS)
        dy = self.fit(x.dims)
        self.pointwise(name, dy, x, size=2 * dy.size, **self._parameters(name))

    # sums

    def reduce(self, x: Value | None = None) -> None:
        """Reduce along some axes; those of a given tensor are all but one, or one, more often than others."""
        how = self.pick(reduction_mode)
        if x is None:
            x = self.any(exact=how is reduction_mode.MUL_NO_ZEROS)
            out = tuple(1 if self.draws.one_in(2) else d for d in x.dims)
        else:
            how = how if x.exact or how is not reduction_mode.MUL_NO_ZEROS else reduction_mode.ADD
            one, apart = self.draws.integers(1, len(x.dims)), self.draws.one_in(3)
            out = tuple(1 if (axis == one) == apart else d for axis, d in enumerate(x.dims))
        count = math.prod(x.dims) // math.prod(out)
        if how in (reduction_mode.MUL, reduction_mode.MUL_NO_ZEROS) and count > 6:
            how = reduction_mode.ADD
        name = how.name
        if name in ("ADD", "NORM1", "NORM2"):
            size = x.size * (count if name == "NORM1" else math.sqrt(count) * 2)
        else:
            size = x.size ** max(count, 1) if name.startswith("MUL") else x.size
        self.node("reduction", {"X": x}, {"mode": how}, dims={"Y": out}, size=size)

    def softmax(self) -> None:
        """Add a softmax along an axis."""
        x = self.any()
        how = {"axis": self.draws.integers(len(x.dims)), "use_stats": self.draws.one_in(2)}
        self.node("softmax", {"P": x}, how, size=max(1.0, x.size + 5.0) if how["use_stats"] else 1.0)

    # what moves elements

    def transpose(self) -> None:
        """Put axes in another order."""
        x = self.any()
        order = self.draws.shuffled(range(len(x.dims)))
        self.node("transpose", {"X": x}, {"permutation": order}, exact=x.exact, size=x.size)

    def slice(self) -> None:
        """Take a part."""
        x = self.any()
        parts = [slice(self.draws.integers(d), d, self.draws.integers(1, 3)) for d in x.dims]
        self.node("slice", {"X": x}, {"slices": parts}, exact=x.exact, size=x.size)

    def reshape(self) -> None:
        """Give other dims."""
        x = self.any()
        first = next((d for d in (2, 3, 4, 5, 7) if math.prod(x.dims) % d == 0), 1)
        flat = (math.prod(x.dims) // first, first) if self.draws.one_in(2) else (1, math.prod(x.dims))
        how = {"reshape_mode": self.pick(reshape_mode)}
        self.node("reshape", {"X": x}, how, dims={"Y": flat}, exact=x.exact, size=x.size)

    def concatenate(self) -> None:
        """Join one after another along an axis."""
        x = self.any()
        axis, parts = self.draws.integers(len(x.dims)), [x]
        for _ in range(self.draws.integers(1, 3)):
            dims = tuple(self.draws.few(9) if i == axis else d for i, d in enumerate(x.dims))
            parts.append(self.input(dims, x.kind))
        ports = {f"IN_{i}": one for i, one in enumerate(self.draws.shuffled(parts))}
        self.node("concatenate", ports, {"axis": axis}, exact=x.exact, size=x.size)

    def random(self) -> None:
        """Draw random numbers."""
        law = self.pick(rng_distribution)
        how: dict[str, Any] = {"distribution": law}
        if law is rng_distribution.BERNOULLI:
            how["bernoulli_probability"] = self.draws.choice((0.0, 0.1, 0.5, 0.75, 1.0))
        elif law is rng_distribution.UNIFORM and self.draws.one_in(2):
            how |= {"minimum": -1.5, "maximum": 0.25}
        elif law is rng_distribution.NORMAL and self.draws.one_in(2):
            how |= {"mean": 0.5, "standard_deviation": 0.25}
        inputs: dict[str, Any] = {"OFFSET": self.draws.integers(1 << 34)} if self.draws.one_in(3) else {}
        if self.draws.one_in(3):
            inputs["SEED"] = self.input((1, 1, 1, 1), "INT64", apart=True)
        else:
            how["seed"] = self.draws.integers(1 << 20)
        exact = law is not rng_distribution.NORMAL
        self.node("rng", inputs, how, dims={"Y": self.dims()}, types={"Y": self.between}, exact=exact)

    def tame(self) -> None:
        """Make what has grown large small again."""
        large = [value for value in self.values if value.size > TAME and not math.isinf(value.size)]
        if large:
            self.pointwise("MUL", self.draws.choice(large), 2.0**-7, size=8.0)
