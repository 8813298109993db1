"""Compiled models run eagerly for a while, so that their operators are called one by one."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Iterator
from typing import Any

import torch

_COMPILER = "torch._dynamo"  # which takes seconds to import


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """Let what torch.compile made run as if it had not; PyTorch before 2.6 goes on with what it has compiled."""
    with contextlib.ExitStack() as stack:
        if _COMPILER in sys.modules:
            stack.enter_context(_stance())
            yield
            return
        compiles = torch.compile

        @functools.wraps(compiles)
        def first(*args: Any, **kwargs: Any) -> Any:
            if torch.compile is first:
                torch.compile = compiles
                stack.enter_context(_stance())
            return compiles(*args, **kwargs)

        torch.compile = first
        try:
            yield
        finally:
            if torch.compile is first:
                torch.compile = compiles


@contextlib.contextmanager
def _stance() -> Iterator[None]:
    if not hasattr(torch.compiler, "set_stance"):
        with importlib.import_module(f"{_COMPILER}.config").patch(disable=True):
            yield
        return
    held = torch.compiler.set_stance("force_eager")
    try:
        yield
    finally:
        held.__exit__(None, None, None)
