"""Run-time numbers of generated cases: blends of results with what was there, epsilons, averaging factors."""

from __future__ import annotations

from ...drawing.draws import Draws
from ...enums import DataType
from ...operation import operation
from ...problem import Problem

# (alpha, beta) pairs; whole ones are for small whole numbers, whose results are then exact
BLENDS = ((-1.25, 0.0), (0.5, 1.0), (1.0, 0.0), (2.0, -0.5), (0.0, 2.0), (1.0, 1.0))
WHOLE_BLENDS = ((2.0, 1.0), (1.0, 0.0), (-1.0, 2.0), (3.0, 0.0), (1.0, -1.0), (0.0, 1.0))
# alpha1 and alpha2 of convolution, bias and activation in one call; of op_tensor beta comes besides
PAIRS = ((1.5, 0.0), (0.5, 1.0), (-1.25, -0.5), (1.0, 0.75), (0.25, 0.0), (0.0, 2.0))
WHOLE_PAIRS = ((1.0, 1.0), (1.0, 0.0), (2.0, -1.0), (3.0, 0.0), (-1.0, 2.0), (0.0, 1.0))
HALF_WAY = 64.25  # has nine significant bits: half-way between two numbers of bfloat16, the lower one even
_BETAS = (0.0, 1.0, -0.5, 0.0)
_WHOLE_BETAS = (0.0, 1.0, 0.0, -2.0)


def numbers_of(
    draws: Draws, problem: Problem, turn: int, *, whole: bool = False, vanish: bool = True
) -> dict[str, float]:
    """Return the run-time numbers of a case.

    Parameters
    ----------
    problem
        Whose numbers they are.
    turn
        Blends take turns.
    whole
        Whether factors are to be whole numbers.
    vanish
        Whether alpha may be 0.
    """
    kinds = (WHOLE_BLENDS, WHOLE_PAIRS) if whole else (BLENDS, PAIRS)
    blends, pairs = ([pair for pair in kind if pair[0] or vanish] for kind in kinds)
    pools = operation(problem.op).drawing.numbers
    found: dict[str, float] = {}
    for name in problem.scalars:
        kind, _, rest = name.partition("_")
        if name in pools:
            found[name] = draws.choice(pools[name])
        elif name in ("alpha1", "alpha2"):
            found[name] = pairs[turn % len(pairs)][name == "alpha2"]
        elif kind == "beta" and "alpha1" in found:
            found[name] = draws.choice(_WHOLE_BETAS if whole else _BETAS)
        elif kind in ("alpha", "beta"):
            shift = 1 + len(rest) if rest else 0  # the pairs of two outputs differ
            found[name] = blends[(turn + shift) % len(blends)][kind == "beta"]
    return found


def half_way(problem: Problem, numbers: dict[str, float]) -> dict[str, float]:
    """Return the numbers with factors that put results half-way between numbers of bfloat16, where outputs are that.

    Small whole numbers have results of eight bits otherwise, which no rounding changes.
    """
    if all(problem.tensors[problem.index(name)].dtype is not DataType.BFLOAT16 for name in problem.written):
        return numbers
    return {name: HALF_WAY if name.partition("_")[0] in ("alpha", "alpha1") else n for name, n in numbers.items()}
