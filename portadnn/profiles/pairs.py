"""Check of batch normalisation's saved statistics (rule S21)."""

from __future__ import annotations

from ..hooks import Call
from .checks import Check, Event, Recent, Watch

_SAVED = ("saved_mean", "saved_inv_variance")
_C_SAVED = (("savedMean", "savedInvVariance"), ("resultSaveMean", "resultSaveInvVariance"))


class Pairs(Check):
    """Pairs of mean and inverse variance by the forward call that wrote them."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._count = 0
        self._writer: Recent[int, tuple[int, int]] = Recent()  # by address: which call, and where its x is
        self._history: Recent[tuple[int, int, int], bool] = Recent()  # x, mean, inverse variance of forward calls

    def before(self, call: Call) -> None:
        name = call.function.lower().replace("_", "")
        if "batchnormalization" not in name or "inference" in name:
            return
        given = call.arguments
        for pair in (_SAVED, *_C_SAVED):
            present = [one for one in pair if given.get(one) is not None]
            if len(present) == 1:
                self.report("S21", call, what=f"{present[0]} is given without its twin")

    def computing(self, event: Event) -> None:
        op, places = event.problem.op, event.addresses
        if not event.scalars or not set(_SAVED) <= places.keys():
            return
        mean, inverse = (places[name] for name in _SAVED)
        x = places["x"]
        if op == "batch_normalization_forward_training":
            self._count += 1
            self._writer[mean] = self._writer[inverse] = (self._count, x)
            self._history[x, mean, inverse] = True
        elif op == "batch_normalization_backward" and event.mine:
            first, second = self._writer.get(mean), self._writer.get(inverse)
            if first is None or second is None:
                self.report("S21", event.call, what="no forward call saved them")
            elif first[0] != second[0]:
                self.report("S21", event.call, what="they are of two forward calls")
            elif first[1] != x and (x, mean, inverse) in self._history:
                self.report("S21", event.call, what="a later forward call, of another x, has overwritten them")
