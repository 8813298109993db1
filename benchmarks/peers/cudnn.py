"""The peer: cuDNN's legacy calls, on memory and the stream of CuPy.

The calls are those of the backend ``cudnn``, but made bare: each problem's descriptors are made once, and a side's call
is one call of the C function. Where cuDNN offers several ways (the two spatial modes of batch normalisation), each is a
side of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portadnn.errors import DnnError
from portadnn.operation import operation
from portadnn.problem import Problem, TensorSpec
from portadnn_backends.vendor_cudnn.connection import CupyConnection
from portadnn_backends.vendor_cudnn.engines import MAKERS
from portadnn_backends.vendor_cudnn.library import Library, load
from portadnn_backends.vendor_cudnn.setting import Calls, Setting

from ..call import DEFAULTS
from ..timing import OtherWork, Side
from .cudnn_inputs import Inputs
from .peer import NoEquivalent

CALLS = tuple(op for op in MAKERS if op != "set_dropout_descriptor")  # which no call of the library's is


class CudnnPeer:
    """cuDNN on the current CUDA device.

    Parameters
    ----------
    library
        The loaded cuDNN.
    cupy
        CuPy, or what stands for it in tests.

    Raises
    ------
    NotSupported
        There is no cuDNN.
    """

    def __init__(self, library: Library | None = None, cupy: Any = None) -> None:
        if cupy is None:
            import cupy
        self.cupy = cupy
        self.library = library or load()
        self.connection = CupyConnection(self.library, cupy)
        self.connection.use(cupy.cuda.get_current_stream().ptr)
        self.busy = OtherWork(self._fill, self.timer)

    @property
    def title(self) -> str:
        """What tables and plots call it."""
        return f"cuDNN {self.library.version_text.rpartition('.')[0]}, legacy calls"

    def describe(self) -> dict[str, Any]:
        """Return what a record has to say of the peer."""
        return {"name": "cudnn", "version": self.library.version, "calls": "legacy", "cupy": self.cupy.__version__}

    def timer(self, function: Callable[[], None]) -> float:
        """Return the seconds of what `function` runs on the device."""
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        function()
        end.record()
        end.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(start, end)) / 1e3

    def _fill(self) -> Callable[[], None]:
        memory = self.cupy.empty(1 << 26, "float32")
        return lambda: memory.fill(0)

    def product(self, spec: TensorSpec, tf32: bool) -> Side | None:
        """Return None: cuDNN has no matrix product."""
        return None

    def sides(self, problem: Problem, numbers: Mapping[str, float]) -> Sequence[Side]:
        """Return each of cuDNN's ways, called once."""
        if problem.op not in CALLS:
            raise NoEquivalent(f"cuDNN has no legacy call for {problem.op}")
        inputs = Inputs(self.cupy, problem)
        try:
            before = operation(problem.op).before
            for earlier, names in before(problem) if before else ():
                self._calls(earlier, {}, inputs, names)
            calls = self._calls(problem, {**DEFAULTS.get(problem.op, {}), **numbers}, inputs, {})
        except DnnError as error:
            raise NoEquivalent(str(error)) from None
        return [Side(name, call, self.timer, self.busy) for name, call in calls.items()]

    def _calls(self, problem: Problem, numbers: Mapping[str, float], inputs: Inputs, names: Mapping[str, str]) -> Calls:
        """Return a problem's calls on the memory of tensors that may have other names there, each made once."""
        setting = Setting(self.connection, problem, exact=False)
        calls = MAKERS[problem.op](setting)
        addresses = [
            inputs.address(names.get(name, name), spec, setting.least.get(name, 0))
            for name, spec in zip(problem.names, problem.tensors, strict=True)
        ]
        scalars = list({**problem.scalars, **numbers}.values())
        setting.point(addresses, scalars, inputs.bytes(setting.workspace) if setting.workspace else 0)
        for step in setting.before:
            step(self.connection)
        for call in calls.values():
            call()
        return {name: _keeping(call, setting, inputs) for name, call in calls.items()}


def _keeping(run: Callable[[], None], *kept: Any) -> Callable[[], None]:
    """Return a call that keeps what it uses alive."""

    def call(_kept: Any = kept) -> None:
        run()

    return call
