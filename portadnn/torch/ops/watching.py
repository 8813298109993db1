"""Whether somebody but autograd has to see the calls of operators."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

from ..keys import recorded


def watched(profiled: bool = False) -> bool:
    """Tell whether somebody but autograd has to see calls: a mode, transform, trace or recording, or a profiler.

    That does not count where calls are `profiled` in another way.
    """
    c = torch._C
    return bool(
        c._len_torch_dispatch_stack()
        or c._len_torch_function_stack()
        or recorded()
        or c._are_functorch_transforms_active()
        or c._get_tracing_state() is not None
        or (not profiled and torch.autograd._profiler_enabled())
        or forward_ad._current_level >= 0
    )
