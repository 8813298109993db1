"""Dispatch keys of PyTorch's that recordings use: it leaves both to others, and no other calls have them."""

from __future__ import annotations

from typing import Any

import torch

_core: Any = torch._C
NAMES = ("Fake", "TESTING_ONLY_GenericMode")  # below autograd: operators; above it and autocast: functions of these
BELOW, ABOVE = KEYS = tuple(_core._parse_dispatch_key(name) for name in NAMES)


def recorded() -> bool:
    """Tell whether what this thread computes is recorded."""
    return bool(_core._dispatch_tls_is_dispatch_key_included(ABOVE))
