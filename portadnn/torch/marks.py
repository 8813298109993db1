"""Marks on tensors that a chain of modules has computed ahead: which modules have nothing left to do."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

_MARK = "_portadnn_behind"


def mark(y: torch.Tensor, behind: Sequence[nn.Module]) -> None:
    """Mark a result as that of the modules behind, too."""
    setattr(y, _MARK, behind)


def passes(module: nn.Module, x: torch.Tensor) -> bool:
    """Tell whether a chain has computed what a module would of this input, and take the module off its mark.

    Compiled code has no chains, and PyTorch 2.4's compiler takes no attributes of tensors.
    """
    if torch.compiler.is_compiling():
        return False
    behind = x.__dict__.get(_MARK)  # what torch.fx traces has every attribute
    if behind is None or behind[0] is not module:
        return False
    if len(behind) > 1:
        setattr(x, _MARK, behind[1:])
    else:
        delattr(x, _MARK)
    return True
