"""Why portadnn cannot serve a function of cuDNN's, and what comes nearest."""

from __future__ import annotations

# The beginning of the names, and why; the first that fits counts.
REASONS = (
    ("cudnnGetFoldedConv", "strided gradients need no folding: cudnnConvolutionBackwardData takes every stride"),
    ("cudnnBackend*CudaGraph", "plans are not recorded into CUDA graphs; cudnnBackendExecute runs them"),
)


def reason(name: str) -> str:
    """Return why a function is refused."""
    for pattern, why in REASONS:
        start, star, middle = pattern.partition("*")
        parts = middle.split("*") if star else []
        place = len(start) if name.startswith(start) else -1
        for part in parts:
            place = -1 if place < 0 else name.find(part, place)
        if place >= 0:
            return why
    return "portadnn has nothing like it"
