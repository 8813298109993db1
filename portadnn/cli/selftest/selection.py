"""What a self-test runs: the same cases, graphs and lines on every machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...diff.campaign.drawing import Wanted, on_each_engine
from ...diff.cases import Case
from ...diff.generate.claims import Claims
from ...handle import Handle
from ...operation import operations
from ...problem import parse

_DRAWN = 24  # problems of an operation among which those of the selection are
_DATA = ("random", "exact")

_BIASED = (
    "IN_0=#1 IN_1=f32:1x16x1x1 OUT_0=#2:~f32:2x16x9x11 mode=ADD ; pointwise IN_0=#2 OUT_0=f32:2x16x9x11 mode=RELU_FWD"
)
_WINDOW = "pre_padding=1,1 post_padding=1,1 stride=1,1 dilation=1,1"
_HEADS = "Q=#1:f32:1x2x33x16 K=#2:f32:1x2x35x16 V=#3:f32:1x2x35x16 ATTN_SCALE=f32:1=0.25"
_GRADIENTS = "DQ=f32:1x2x33x16 DK=f32:1x2x35x16 DV=f32:1x2x35x16"
GRAPHS = (  # attention and its gradient, products and convolutions with what is fused behind them, joined nodes, norms
    "sdpa Q=f16:2x4x65x64 K=f16:2x2x130x64 V=f16:2x2x130x64 ATTN_SCALE=f32:1=0.125 O=f16:2x4x65x64 right_bound=0",
    "sdpa Q=f32:1x4x65x32 K=f32:1x2x67x32 V=f32:1x2x67x32 ATTN_SCALE=f32:1=0.125 BIAS=f32:1x1x65x67 O=f32:1x4x65x32",
    f"sdpa {_HEADS} O=#4:f32:1x2x33x16 STATS=#5:f32:1x2x33x1 generate_stats=True ; "
    f"sdpa_backward Q=#1 K=#2 V=#3 ATTN_SCALE=f32:1=0.25 O=#4 STATS=#5 DO=f32:1x2x33x16 {_GRADIENTS}",
    "matmul A=f16:8x64x32 B=f16:8x32x64 C=#1:~f32:8x64x64 ; pointwise IN_0=#1 IN_1=f32:1x1x64 OUT_0=#2:~f32:8x64x64 "
    "mode=ADD ; pointwise IN_0=#2 OUT_0=f16:8x64x64 mode=GELU_FWD",
    f"conv_fprop X=f32:2x8x9x11 W=f32:16x8x3x3 Y=#1:~f32:2x16x9x11 {_WINDOW} ; pointwise {_BIASED}",
    f"conv_dgrad DY=f32:2x16x9x11 W=f32:16x8x3x3 DX=#1:~f32:2x8x9x11 {_WINDOW} ; "
    "pointwise IN_0=#1 IN_1=f32:2x8x9x11 OUT_0=f32:2x8x9x11 mode=MUL",
    "reduction X=#1:f32:5x37x41 Y=#2:f32:5x37x1 mode=MAX ; pointwise IN_0=#1 IN_1=#2 OUT_0=#3:~f32:5x37x41 mode=SUB ; "
    "pointwise IN_0=#3 OUT_0=#4:f32:5x37x41 mode=EXP ; reduction X=#4 Y=f32:5x37x1 mode=ADD",
    "layernorm X=f32:17x96 SCALE=f32:1x96 BIAS=f32:1x96 EPSILON=f32:1=1e-5 Y=f32:17x96 phase=INFERENCE",
    "softmax P=f16:3x65x130 S=f16:3x65x130 axis=2",
    "resample X=f32:2x5x9x11 Y=f32:2x5x4x5 mode=AVGPOOL_EXCLUDE_PADDING padding_mode=ZERO_PAD window=3,3 "
    "pre_padding=0,0 post_padding=0,0 stride=2,2",
    "rng Y=f32:16x9x16 distribution=NORMAL seed=454947",
)


@dataclass(frozen=True)
class Selection(Wanted):
    """For each operation the first problem of each type that the device takes, then the same on each engine by name."""

    def cases(self, handles: Mapping[str, Handle]) -> Iterator[Case]:
        """Yield the cases: all operations in one type, then in the next; a beginning of them has all operations."""
        claims = Claims(handles.values())
        problems = {op: self._of(op, claims) for op in operations()}
        most = max(map(len, problems.values()))
        plain = [lines[number] for number in range(most) for lines in problems.values() if number < len(lines)]
        cases = [Case(line, _DATA[number % len(_DATA)]) for number, line in enumerate(plain)]
        yield from cases
        for case in cases:
            yield from (each for each in on_each_engine(case, handles) if each.engine)

    @staticmethod
    def _of(op: str, claims: Claims) -> list[str]:
        """Return an operation's problems, one of each type."""
        found: dict[object, str] = {}
        for number in range(_DRAWN):
            line = operations()[op].drawing.line(op, 0, number)
            problem = parse(line)
            if problem.dtype not in found and claims.taken(problem, problem.scalars):
                found[problem.dtype] = line
        return list(found.values())

    @property
    def reads_targets(self) -> bool:
        """True: the device decides which problems and engines there are."""
        return True
