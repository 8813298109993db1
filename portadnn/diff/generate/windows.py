"""Problems of bias gradients."""

from __future__ import annotations

from ...drawing.draws import Draws
from ...drawing.layouts import CLASSES, Tensors
from ...drawing.sizes import RANKS, SIZES, image_dims
from ...drawing.strata import TYPES, Choices
from .legacy import family

_STRATA = {"dtype": TYPES, "layout": CLASSES}


@family("convolution_backward_bias", crossed=_STRATA, turns={"size": SIZES, "rank": RANKS})
def _bias(draws: Draws, choices: Choices, op: str) -> str:
    dims = image_dims(draws, choices, empty=False)
    tensors = Tensors(draws, choices["dtype"], choices["layout"])
    db = (1, dims[1], *(1 for _ in dims[2:]))
    return f"{op} dy={tensors.text(dims)} db={tensors.text(db, written=True)}"
