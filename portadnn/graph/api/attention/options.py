"""The arguments of attention in all their spellings, as ports and attributes of the kinds.

cudnn-frontend's methods name one thing differently (``sliding_window_length``, ``sliding_window``,
``diagonal_band_left_bound``, ``left_bound``); here every method takes all names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....errors import shown
from ...data_types import data_type
from ...enums import diagonal_alignment, scalar_type
from ...rules import fail
from ...tensor import tensor
from ..arguments import flag, listed, maybe_whole, plain
from ..arguments import number as read_number

TOP_LEFT, BOTTOM_RIGHT = diagonal_alignment.TOP_LEFT, diagonal_alignment.BOTTOM_RIGHT


def number(value: Any, kind: data_type) -> Any:
    """Return a constant of the graph for a Python number, of a type that holds it; anything else as it is."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value  # is refused where it is no tensor
    made = tensor().set_value(value, scalar_type.COMPILE_TIME_CONST).set_dim([1]).set_stride([1])
    return made.set_data_type(kind)


def one_of(call: str, **spellings: Any) -> Any:
    """Return the value that was given under one or more names, None where none was.

    Raises
    ------
    InvalidValue
        Two names have different values (PG-SDPA-003).
    """
    given = {name: value for name, value in spellings.items() if value is not None}
    values = list(given.values())
    if not all(value is values[0] or _equal(value, values[0]) for value in values):
        got = " and ".join(f"{name}={shown(value)}" for name, value in given.items())
        raise fail(
            "PG-SDPA-003", argument=call, expected="one value", got=got, fix=f"pass {next(iter(given))} and no other"
        )
    return values[0] if values else None


def _equal(value: Any, other: Any) -> bool:
    try:
        return bool(value == other)
    except Exception:  # arrays; a user's __eq__ may raise anything
        return False


Bounds = Sequence[Any]
_LEFT = ("diagonal_band_left_bound", "left_bound", "sliding_window_length", "sliding_window")
_RIGHT = ("diagonal_band_right_bound", "right_bound")


def band(
    use_causal_mask: bool,
    use_causal_mask_bottom_right: bool,
    alignment: Any,
    lefts: Sequence[Any],
    rights: Sequence[Any],
) -> dict[str, Any]:
    """Return the attributes of the diagonal band. Bounds come by all of their names, None where not given.

    A causal mask is a band with a right bound of 0; it starts at the top left, or at the bottom right.

    Raises
    ------
    InvalidValue
        A causal mask and another bound or corner (PG-SDPA-003).
    """
    left = one_of("left bound", **dict(zip(_LEFT, lefts, strict=True)))
    right = one_of("right bound", **dict(zip(_RIGHT, rights, strict=True)))
    alignment = diagonal_alignment.TOP_LEFT if alignment is None else alignment
    alignment = diagonal_alignment.parse(alignment, "diagonal_alignment")
    use_causal_mask = flag(use_causal_mask, "use_causal_mask")
    use_causal_mask_bottom_right = flag(use_causal_mask_bottom_right, "use_causal_mask_bottom_right")
    left, right = maybe_whole(left, "left_bound"), maybe_whole(right, "right_bound")
    causal = use_causal_mask or use_causal_mask_bottom_right
    wrong = None
    if use_causal_mask and use_causal_mask_bottom_right:
        wrong = "use_causal_mask and use_causal_mask_bottom_right"
    elif use_causal_mask and alignment is BOTTOM_RIGHT:
        wrong = "use_causal_mask and diagonal_alignment.BOTTOM_RIGHT"
    elif causal and right not in (None, 0):
        wrong = f"a causal mask and diagonal_band_right_bound={right}"
    if wrong is not None:
        raise fail(
            "PG-SDPA-003",
            argument="use_causal_mask",
            expected="one way to state the band",
            got=wrong,
            fix="pass diagonal_alignment and diagonal_band_right_bound=0 alone",
        )
    return {
        "diagonal_alignment": BOTTOM_RIGHT if use_causal_mask_bottom_right else alignment,
        "left_bound": left,
        "right_bound": 0 if causal else right,
    }


def dropout_ports(dropout: Any, *, backward: bool) -> tuple[dict[str, Any], float | None]:
    """Return the ports of a dropout and its probability.

    Parameters
    ----------
    dropout
        None, (probability, seed, offset), or (mask, scale), which backward is (mask, scale, 1 / scale). Seed, offset
        and scale are tensors or numbers.

    Raises
    ------
    InvalidValue
        Anything else (PG-SDPA-007).
    """
    if dropout is None:
        return {}, None
    masked = "(mask, scale, scale_inv)" if backward else "(mask, scale)"
    count = 3 if backward else 2
    if isinstance(dropout, Sequence) and not isinstance(dropout, str):
        parts = listed(dropout, "dropout", "PG-SDPA-007")
        if len(parts) == 3 and isinstance(plain(parts[0]), (int, float)) and not isinstance(parts[0], bool):
            seed, offset = (number(value, data_type.INT64) for value in parts[1:])
            return {"SEED": seed, "OFFSET": offset}, float(read_number(parts[0], "dropout[0]", "PG-SDPA-007"))
        if len(parts) == count and isinstance(parts[0], tensor):
            names = ("DROPOUT_MASK", "DROPOUT_SCALE", "DROPOUT_SCALE_INV")
            values = [number(value, data_type.DOUBLE) for value in parts]
            return dict(zip(names, values, strict=False)), None
    raise fail(
        "PG-SDPA-007",
        argument="dropout",
        expected=f"(probability, seed, offset) or {masked}",
        got=shown(dropout),
        fix="pass dropout=(0.1, seed, offset)",
    )


def refuse_functions(**functions: Any) -> None:
    """Refuse functions that build part of the graph.

    Raises
    ------
    cudnnGraphNotSupportedError
        One was given (PG-SDPA-008).
    """
    for name, value in functions.items():
        if value is not None:
            raise fail(
                "PG-SDPA-008",
                argument=name,
                expected="None",
                got=shown(value),
                fix="state it by bias, masks and bounds, or build attention of matmul, pointwise modes and softmax",
            )


def stats_wanted(is_inference: bool | None, generate_stats: bool | None) -> bool:
    """Return whether the logarithm of the sum of exponentials is a result; not unless it is asked for.

    Raises
    ------
    InvalidValue
        The two contradict each other (PG-SDPA-003).
    """
    asked = None if is_inference is None else not flag(is_inference, "is_inference")
    given = None if generate_stats is None else flag(generate_stats, "generate_stats")
    wanted = one_of("generate_stats", generate_stats=given, **{"not is_inference": asked})
    return bool(wanted)


def present(ports: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ports that something was given for."""
    return {port: value for port, value in ports.items() if value is not None}
