"""The section of docs/amd.md on main loops: the share of the matrix units' peak, and what a turn consists of."""

from __future__ import annotations

import itertools
import os
import textwrap
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from graphs import D

from amd_isa import clang
from amd_isa.matrix_loops import (
    PRODUCTS,
    attention,
    attention_gradients,
    convolution,
    product,
    recurrent,
    tiles_of,
)
from amd_isa.rates import Turn, turn
from portadnn_backends.engines.conv.matrix_units import unit_of_target

LISTED = ("gfx942", "gfx1100")
_KINDS = {"f16": D.HALF, "bf16": D.BFLOAT16, "f32": D.FLOAT}


def _tile(direction: str, dtype: str, number: int) -> Callable[[str], tuple[str, str]]:
    return lambda target: (convolution(target, direction, dtype, tiles_of(target, direction)[number]), "conv_matrix")


def _product(name: str, dtype: str) -> Callable[[str], tuple[str, str]]:
    return lambda target: (product(target, name, _KINDS[dtype]), "conv_matrix")


def _attention(length: int, dtype: str) -> Callable[[str], tuple[str, str]]:
    return lambda target: (attention(target, _KINDS[dtype], length), "attention_forward_matrix")


def _gradient(of: str, length: int, dtype: str) -> Callable[[str], tuple[str, str]]:
    def text(target: str) -> tuple[str, str]:
        texts = attention_gradients(target, _KINDS[dtype], length)
        return next(one for name, one in texts.items() if of in name.split(", "))

    return text


def _recurrent(dtype: str) -> Callable[[str], tuple[str, str]]:
    return lambda target: (recurrent(target, _KINDS[dtype].problem_type.name), "gemm_matrix")


# loops by name: what returns a target's text and its kernel, and whether the page lists the instructions
LOOPS = {
    "convolution 128 x 128, f16": (_tile("forward", "f16", 0), True),
    "convolution 128 x 128, bf16": (_tile("forward", "bf16", 0), False),
    "convolution 128 x 128, f32": (_tile("forward", "f32", 0), False),
    "convolution 128 x 64, f16": (_tile("forward", "f16", 1), False),
    "convolution 64 x 128, f16": (_tile("forward", "f16", 2), False),
    "convolution 64 x 64, f16": (_tile("forward", "f16", 3), False),
    "data gradient 128 x 128, f16": (_tile("data", "f16", 0), False),
    "filter gradient 128 x 128, f16": (_tile("filter", "f16", 0), True),
    "filter gradient 128 x 128, bf16": (_tile("filter", "bf16", 0), False),
    **{f"graph's product, {name}, f16": (_product(name, "f16"), name == "bias and gelu") for name in PRODUCTS},
    "graph's product, bias and gelu, bf16": (_product("bias and gelu", "bf16"), False),
    "graph's product, bias and gelu, f32": (_product("bias and gelu", "f32"), False),
    "recurrent networks' inputs, f16": (_recurrent("f16"), True),
    "recurrent networks' inputs, f32": (_recurrent("f32"), False),
    "attention, heads of 64, f16": (_attention(64, "f16"), True),
    "attention, heads of 64, bf16": (_attention(64, "bf16"), False),
    "attention, heads of 128, f16": (_attention(128, "f16"), True),
    "attention, heads of 128, bf16": (_attention(128, "bf16"), False),
    **{
        f"attention, d{of.lower()}, heads of {length}, {dtype}": (
            _gradient(f"D{of}", length, dtype),
            dtype == "f16" and length == 128 and of == "K",
        )
        for length in (64, 128)
        for dtype in ("f16", "bf16")
        for of in "QKV"
    },
}


def _takes(target: str, name: str) -> bool:
    unit = unit_of_target(target)
    return unit is not None and _KINDS[name.rpartition(" ")[2]].problem_type in unit.types


def _turn(place: tuple[str, str]) -> Turn | None:
    name, target = place
    if not _takes(target, name):
        return None
    text, kernel = LOOPS[name][0](target)
    return turn(clang.listing(clang.compile(text, target)), target, kernel)


def _listing(found: Turn) -> str:
    """Return a turn's instructions in order, those in a row that are alike once with their number."""
    names = (line.split()[0] for line in found.listing)
    runs = ((name, sum(1 for _ in same)) for name, same in itertools.groupby(names))
    return textwrap.fill(", ".join(name if count == 1 else f"{count}*{name}" for name, count in runs), 150)


def _counts(found: Turn) -> str:
    """Return how many instructions of each kind a turn has, and the clocks that they take a SIMD."""

    def of(*prefixes: str) -> int:
        return sum(line.startswith(prefixes) for line in found.listing)

    matrix = of("v_mfma", "v_wmma")
    return (
        f"{len(found.listing)} instructions: {matrix} matrix ({found.matrix:.0f} clocks), {of('v_') - matrix} vector "
        f"({found.vector:.0f}), {of('ds_')} of local memory ({found.local:.0f}), "
        f"{of('global_', 'buffer_', 'flat_')} of memory ({found.memory:.0f}); share {found.share:.2f}"
    )


def loops(targets: Sequence[str]) -> str:
    """Return the table of shares, and the listings."""
    places = list(itertools.product(LOOPS, targets))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        turns = dict(zip(places, pool.map(_turn, places), strict=True))
    lines = [f"| Main loop | {' | '.join(targets)} |", "|---|" + "---:|" * len(targets)]
    for name in LOOPS:
        row = (turns[name, target] for target in targets)
        lines.append(f"| {name} | {' | '.join('' if one is None else f'{one.share:.2f}' for one in row)} |")
    for name, (_, listed) in LOOPS.items():
        for target in LISTED if listed else ():
            one = turns[name, target]
            assert one is not None
            lines += ["", f"**{name}, {target}.** {_counts(one)}.", "", "```", _listing(one), "```"]
    return "\n".join(lines)
