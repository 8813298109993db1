"""What a traced program of a model relies on: its modules, and their attributes."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.modules import module as _module

_PLAIN = (bool, int, float, str, tuple)
_OURS = ("portadnn_place", "portadnn_chain", "forward", "training")  # attributes that may change
# hooks of all modules: PyTorch 2.4 has no function that tells of them
HOOKS_OF_ALL = (
    _module._global_backward_pre_hooks,
    _module._global_backward_hooks,
    _module._global_forward_pre_hooks,
    _module._global_forward_hooks,
)


class State:
    """A model's modules and their attributes at some time.

    Numbers, strings, flags and tuples are compared by value, other attributes by identity. What a container holds
    (a list that grows), globals and classes are not looked at.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        modules = [module for _, module in model.named_modules(remove_duplicate=False)]
        self._inner = [vars(module) for module in modules if module is not model]
        self._children = [(m._modules, name, child) for m in modules for name, child in m._modules.items()]
        own = [(vars(m), {k: v for k, v in vars(m).items() if k not in _OURS}) for m in modules]
        self._counts = [(now, len(then)) for now, then in own]
        self._values = [(now, name, value) for now, then in own for name, value in then.items()]

    def passive(self) -> bool:
        """Tell whether nobody sees single modules, and all are in evaluation mode: no hooks, no other ``forward``."""
        if any(HOOKS_OF_ALL) or self._model.training:
            return False
        return not any(
            own["training"] or own["_forward_hooks"] or own["_forward_pre_hooks"] or "forward" in own
            for own in self._inner
        )

    def same(self) -> bool:
        """Tell whether modules and attributes are as they were."""
        if any(of.get(name) is not child for of, name, child in self._children):
            return False
        if any(len(now) - sum(name in now for name in _OURS) != count for now, count in self._counts):
            return False
        return all(_equal(of.get(name), value) for of, name, value in self._values)


def _equal(now: Any, then: Any) -> bool:
    return now is then or (type(now) is type(then) and isinstance(then, _PLAIN) and now == then)
