"""Calls made again just as before: told by what they were given, without a look at every tensor's layout."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .watching import WATCHERS

if TYPE_CHECKING:
    from portadnn_backends.base import Run

    from .handle import Handle

MOST_RECENT = 1024  # calls that a handle remembers

Again = Callable[["Handle", tuple[Any, ...], Any, Any, tuple[Any, ...], Any], Any]


@functools.cache
def identical(count: int) -> Callable[..., Callable[[tuple[Any, ...]], bool]]:
    """Return what makes of so many objects a test for a tuple of just these; generated, because every call asks."""
    names = [f"known_{i}" for i in range(count)]
    test = " and ".join(f"given[{i}] is {name}" for i, name in enumerate(names))
    return eval(f"lambda {', '.join(names)}: lambda given: {test or True}")  # type: ignore[no-any-return]


def remember(
    handle: Handle,
    run: Run,
    tensors: tuple[Any, ...],
    params: Any,
    algo: Any,
    scalars: tuple[Any, ...],
    inputs: int,
) -> Again:
    """Return ``again(handle, tensors, params, algo, scalars, workspace)``, which repeats a run if it is its last call.

    Its result is the call's, or None if it is another one. The first `inputs` tensors are no outputs. Tensors are known
    again by the device, everything else by identity (equal numbers may differ: 0.0 and -0.0, 1.0 and True), and no
    memory is kept alive. The run's stamp, (places, numbers, scratch), stands for its bound arguments.
    """
    stamp, lock, place = run.stamp, handle.lock, handle.device.workspace_place
    scratch = stamp[2]
    same_tensors, same_numbers, repeat = handle.device.mark(tensors), identical(len(scalars))(*scalars), run.repeat
    known_params, known_algo, single = params, algo, len(tensors) == inputs + 1

    def again(
        handle: Handle, tensors: tuple[Any, ...], params: Any, algo: Any, scalars: tuple[Any, ...], workspace: Any
    ) -> Any:
        if (
            run.stamp is stamp
            and not WATCHERS
            and algo is known_algo
            and (handle.scratches if workspace is None else place(workspace)) == scratch
            and (params is known_params or params == known_params)
            and same_numbers(scalars)
            and same_tensors(tensors)
        ):
            with lock:
                if run.stamp is stamp and repeat():  # type: ignore[misc]
                    return tensors[-1] if single else tensors[inputs:]
        return None

    return again
