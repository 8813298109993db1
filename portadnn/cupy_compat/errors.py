"""CuDNNError, as CuPy raises it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from portadnn import cudnn

from ..errors import DnnError

P = ParamSpec("P")
R = TypeVar("R")


class CuDNNError(RuntimeError):
    """A status other than success.

    Parameters
    ----------
    status
        cuDNN's number.

    Attributes
    ----------
    status : int
        The same.
    """

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"cuDNN Error: {cudnn.cudnnGetErrorString(operator.index(status))}")
        self._infos: list[str] = []

    def add_info(self, info: str) -> None:
        """Add a line to the message."""
        self._infos.append(info)

    def add_infos(self, infos: list[str]) -> None:
        """Add lines to the message."""
        self._infos.extend(infos)

    def __str__(self) -> str:
        return "\n  ".join([super().__str__(), *self._infos])

    def __reduce__(self) -> Any:
        return type(self), (self.status,)


def check_status(status: int) -> None:
    """Raise CuDNNError unless the status is success."""
    if status:
        raise CuDNNError(status)


def cudnn_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function raise portadnn's errors as CuDNNError, with their message in its second line."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except DnnError as error:
            told = CuDNNError(error.status)
            told.add_info(str(error))
            raise told from error

    return call
