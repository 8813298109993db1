"""How the words of DPP, SDWA and matrix instructions are kept in a record's `extra`."""

from __future__ import annotations

import re
from typing import Any

WORDS = re.compile(
    r"\s(quad_perm:\[[^]]*\]|(?:row|wave)_\w+(?::\d+)?|row_mask:\w+|bank_mask:\w+|bound_ctrl:\d|fi:\d|dpp8:\[[^]]*\]"
    r"|(?:dst|src[01])_sel:\w+|dst_unused:\w+|(?:cbsz|abid|blgp):\w+)"
)


def encode(fields: dict[str, Any], words: list[str]) -> None:
    """Set the fields `modifier` and `extra` (at most 10 bytes) of a record from such words, at least one."""
    raise NotImplementedError(" ".join(words))
