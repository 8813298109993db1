"""Whether somebody but autograd has to see the calls of operators."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

from ..keys import recorded

_dispatches, _functions = torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack
_transforms, _traced = torch._C._are_functorch_transforms_active, torch._C._get_tracing_state


def watched(profiled: bool = False) -> bool:
    """Tell whether somebody but autograd has to see calls: a mode, transform, trace or recording, or a profiler.

    That does not count where calls are `profiled` in another way.
    """
    return bool(  # the functions have names of their own, which are found faster
        _dispatches()
        or _functions()
        or recorded()
        or _transforms()
        or _traced() is not None
        or (not profiled and torch.autograd._profiler_enabled())
        or forward_ad._current_level >= 0
    )
