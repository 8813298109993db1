"""How large what a ``bn_finalize`` adds up and subtracts is, of which its results are what remains.

Its variance is a difference, E[x^2] - E[x]^2: an error of a unit in the last place of either is many units of a small
variance, and so many in whatever is multiplied by 1 / sqrt(variance + epsilon).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..operation_graph import Operation

Numbers = npt.NDArray[Any]


def finalized_sizes(operation: Operation, known: Mapping[int, Numbers]) -> dict[str, Numbers]:
    """Return by port the sizes that roundings in a result are relative to.

    Parameters
    ----------
    known
        The node's inputs by uid.
    """
    given = {port: np.asarray(known[uid], np.float64) for port, uid in operation.inputs}

    def number(port: str) -> Any:
        return given[port].reshape(-1)[0]

    with np.errstate(all="ignore"):
        count = number("ACCUM_COUNT")
        mean, squares = np.abs(given["SUM"]) / count, np.abs(given["SQ_SUM"]) / count
        terms = squares + mean**2
        rest = np.abs(given["SQ_SUM"] / count - mean**2 + number("EPSILON"))
        inverse = (1 + terms / rest / 2) / np.sqrt(rest)
        scale = np.abs(given["SCALE"]) * inverse
        found = {"MEAN": mean, "INV_VARIANCE": inverse, "EQ_SCALE": scale}
        found["EQ_BIAS"] = np.abs(given["BIAS"]) + mean * scale
        if "MOMENTUM" in given:
            momentum = number("MOMENTUM")
            for name, new in (("MEAN", mean), ("VAR", terms * count / (count - 1))):
                before = np.abs(given[f"PREV_RUNNING_{name}"])
                found[f"NEXT_RUNNING_{name}"] = np.abs(1 - momentum) * before + np.abs(momentum * new)
    return found
