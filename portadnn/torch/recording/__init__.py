"""Recordings of PyTorch programs: the calls that cuDNN has operations for, as problems (docs/from-pytorch.md)."""

from __future__ import annotations

import importlib
import os
from typing import Any

from .recorder import Recorder, shares

__all__ = ["Recorder", "comparer", "record", "shares"]


def record(path: str | os.PathLike[str]) -> Recorder:
    """Record what a PyTorch program computes inside of a ``with`` block.

    Convolutions, normalisations, poolings, recurrent networks, softmax, attention, products, activations, CTC loss and
    grid sampling, forward and backward, are written as problems, with the module that made them. Compiled models run
    eagerly meanwhile. Other threads than the caller's are not seen, but for the backward passes that it starts.

    Parameters
    ----------
    path
        The file to write, as docs/recordings.md describes it; ``portadnn replay`` and others read it.

    Returns
    -------
    Recorder
        A context manager, whose `counts`, `posed` and `left` say what became problems.

    Raises
    ------
    BadParam
        On entering, where the file cannot be made, or another recording that is still open writes it; nested
        recordings with files of their own both have the inner calls.
    """
    return Recorder(path)


def comparer() -> Any:
    """Return the class that compares programs with other backends: it imports portadnn.diff, which takes a while."""
    return importlib.import_module(".comparing", __name__).Comparer
