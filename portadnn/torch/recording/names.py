"""Names of modules and places of calls, forward and backward."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import torch

_OURS = str(Path(__file__).parent)
_TORCH = str(Path(torch.__file__).parent)
_INNER = (_OURS, _TORCH)
_CLI = str(Path(_OURS).parents[1] / "cli")
_COMPILED = "_orig_mod."  # what torch.compile puts before names
MOST = 1 << 18  # autograd nodes whose modules are remembered
_node, _number, _trains = torch._C._current_autograd_node, torch.autograd._get_sequence_nr, torch.is_grad_enabled


class Modules:
    """Which module is being computed; installed as hooks of all modules.

    A module's name is the one that it has in the outermost module that is being called. In the backward pass autograd's
    node says which forward call made it.
    """

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._names: dict[int, str] = {}
        self._root: Any = None
        self._nodes: dict[int, str] = {}
        self._hooks: list[Any] = []

    def install(self) -> None:
        """Look at every module that is called."""
        module = torch.nn.modules.module
        self._hooks = [
            module.register_module_forward_pre_hook(self._enter),
            module.register_module_forward_hook(self._leave, always_call=True),
        ]

    def remove(self) -> None:
        """Look no more."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self._stack.clear()

    def _enter(self, module: Any, args: Any) -> None:
        if not self._stack and self._root is not module:
            self._root = module  # kept alive, so that ids are its modules'
            self._names = {id(one): name.removeprefix(_COMPILED) for name, one in module.named_modules()}
        self._stack.append(module)

    def _leave(self, module: Any, args: Any, out: Any) -> None:
        while self._stack and self._stack.pop() is not module:
            pass

    def current(self) -> str:
        """Return the name of the module that is being computed, or whose gradients are; "" outside of modules."""
        if self._stack:
            module = self._stack[-1]
            return self._names.get(id(module), "") or type(module).__name__
        node = _node()
        return "" if node is None else self._nodes.get(node._sequence_nr(), "")

    def note(self, name: str) -> None:
        """Remember that the autograd node that was made last belongs to a module."""
        if name and _trains():
            if len(self._nodes) >= MOST:
                self._nodes.clear()
            self._nodes[_number() - 1] = name


def site() -> tuple[str, int]:
    """Return file and line of the program that made the call: the first outside of PyTorch and of the recorder."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INNER):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith(_CLI):
        return "", 0
    return frame.f_code.co_filename, frame.f_lineno
