"""How the words of DPP, SDWA and matrix instructions are kept in a record's `extra`, as c/modifiers.h reads them."""

from __future__ import annotations

import re
from typing import Any

WORDS = re.compile(
    r"\s((?:quad_perm|dpp8|neg):\[[^]]*\]|(?:row|bank)_mask:\w+|bound_ctrl:\d|fi:\d|(?:row|wave)_\w+(?::\d+)?"
    r"|(?:dst|src[01])_sel:\w+|dst_unused:\w+|(?:cbsz|abid|blgp):\d+)"
)
_DPP, _SDWA = 1, 2  # Record.modifier
_KINDS = (
    *("quad_perm", "row_shl", "row_shr", "row_ror", "wave_shl", "wave_rol", "wave_shr", "wave_ror", "row_mirror"),
    *("row_half_mirror", "row_bcast", "row_share", "row_xmask", "dpp8"),
)
_SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
_MATRIX = {"cbsz": 0, "abid": 1, "blgp": 2, "neg": 2}
_FIRST = 9  # the place of the first source's number


def encode(fields: dict[str, Any], words: list[str], name: str) -> None:
    """Set `modifier` and `extra` among an operation's fields from such words, of which there is at least one."""
    values = dict(word.partition(":")[::2] for word in words)
    extra = fields["extra"] = [0] * 10
    if set(values) <= set(_MATRIX):
        for key, value in values.items():
            extra[_MATRIX[key]] = _packed(value, 1) if value.startswith("[") else int(value)
        return
    extra[_FIRST] = 2 if re.match(r"v_(add|sub|subrev)_co_", name) else 1
    if any(key.endswith("_sel") for key in values):
        fields["modifier"] = _SDWA
        extra[0] = _SELECTS.index(values.get("dst_sel", "DWORD"))
        extra[1] = _UNUSED.index(values.get("dst_unused", "UNUSED_PAD"))
        extra[2], extra[3] = (_SELECTS.index(values.get(f"src{i}_sel", "DWORD")) for i in range(2))
        return
    fields["modifier"] = _DPP
    (kind,) = (key for key in values if key.replace("newbcast", "share") in _KINDS)
    argument = values[kind]
    bits = _packed(argument, 3 if kind == "dpp8" else 2) if argument.startswith("[") else int(argument or 0)
    extra[0] = 1 + _KINDS.index(kind.replace("newbcast", "share"))
    extra[1:4] = [bits >> 8 * i & 255 for i in range(3)]
    extra[4:6] = [int(values.get(key, "0xf"), 0) for key in ("row_mask", "bank_mask")]
    extra[6:8] = [int(kind == "dpp8" or values.get("bound_ctrl") == "1"), int(values.get("fi") == "1")]


def _packed(numbers: str, bits: int) -> int:
    return sum(int(number) << bits * i for i, number in enumerate(numbers.strip("[]").split(",")))
