"""Names of modules and places of calls, forward and backward."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch

_OURS = str(Path(__file__).parent)
_TORCH = str(Path(torch.__file__).parent)
_INNER = (_OURS, _TORCH)
_CLI = str(Path(_OURS).parents[1] / "cli")
_COMPILED = "_orig_mod."  # what torch.compile puts before names
_CALL = torch.nn.Module._call_impl.__code__  # what calls a module's forward, hooks or not
MOST = 1 << 18  # autograd nodes whose modules are remembered
MOST_ROOTS = 64  # modules of which those inside are known by name
_node, _number, _trains = torch._C._current_autograd_node, torch.autograd._get_sequence_nr, torch.is_grad_enabled
_frame = sys._getframe


class Where(NamedTuple):
    """Where a call was made.

    Attributes
    ----------
    site : (str, int)
        File and line: the first outside of PyTorch and of the recorder, ``("", 0)`` where there is none.
    module, root : Module or None
        The innermost and the outermost module that is being called.
    """

    site: tuple[str, int]
    module: Any
    root: Any


def where() -> Where:
    """Return where the program made the call that is being computed, by the frames of this thread."""
    frame: FrameType | None = _frame(1)
    site: FrameType | None = None
    module: FrameType | None = None
    root: FrameType | None = None
    while frame is not None:
        code = frame.f_code
        if code is _CALL:
            root = frame
            if module is None:
                module = frame
        elif site is None and not code.co_filename.startswith(_INNER):
            site = frame
        frame = frame.f_back
    if site is None or site.f_code.co_filename.startswith(_CLI):
        place = "", 0
    else:
        place = site.f_code.co_filename, site.f_lineno
    if module is None or root is None:
        return Where(place, None, None)
    return Where(place, module.f_locals["self"], root.f_locals["self"])


class Modules:
    """Names of modules: what one is called in the outermost module that is being called.

    In the backward pass autograd's node says which forward call made it.
    """

    def __init__(self) -> None:
        self._roots: dict[int, tuple[Any, dict[int, str]]] = {}
        self._nodes: dict[int, str] = {}

    def name(self, place: Where) -> str:
        """Return the name of the module that is being computed, or whose gradients are; "" outside of modules."""
        module = place.module
        if module is not None:
            return self._names(place.root).get(id(module), "") or type(module).__name__
        node = _node()
        return "" if node is None else self._nodes.get(node._sequence_nr(), "")

    def _names(self, root: Any) -> dict[int, str]:
        known = self._roots.get(id(root))
        if known is None or known[0]() is not root:
            if len(self._roots) >= MOST_ROOTS:
                self._roots.clear()
            names = {id(one): name.removeprefix(_COMPILED) for name, one in root.named_modules()}
            known = self._roots[id(root)] = weakref.ref(root), names
        return known[1]

    def note(self, name: str) -> None:
        """Remember that the autograd node that was made last belongs to a module."""
        if name and _trains():
            if len(self._nodes) >= MOST:
                self._nodes.clear()
            self._nodes[_number() - 1] = name
