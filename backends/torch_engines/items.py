"""Operations of MIOpen alone: PyTorch's functions of these stand beside them in the tests, not behind this backend."""

from __future__ import annotations

from portadnn.ops.gates import GLUBackward, GLUForward, PReLUBackward, RoPEBackward, RoPEForward
from portadnn.ops.getitem import GetitemBackward
from portadnn.ops.indexing import CatForward, KthvalueForward
from portadnn.ops.losses import MultiMarginLossForward, SoftMarginLossBackward, SoftMarginLossForward
from portadnn.ops.optimizers import Adam

from .way import Ways, lacking

_KINDS = (
    Adam,
    CatForward,
    GLUBackward,
    GLUForward,
    GetitemBackward,
    KthvalueForward,
    MultiMarginLossForward,
    PReLUBackward,
    RoPEBackward,
    RoPEForward,
    SoftMarginLossBackward,
    SoftMarginLossForward,
)

WAYS: Ways = dict.fromkeys(
    _KINDS, lacking("PyTorch's own functions stand beside it in the tests, not behind this backend")
)
