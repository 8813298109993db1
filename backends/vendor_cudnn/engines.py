"""The engines of the backend ``cudnn``: one for the calls that have no algorithm, one for each algorithm that there is.

Three things say what an engine does not take, in this order: the capability table of the backend; the library, which
is asked wherever a problem's descriptors can be set and sizes queried without memory; and the call itself. What cuDNN
finds out only in the call (a layout that a pooling kernel lacks, say) is raised as NotSupported or BadParam then:
cuDNN looks at all arguments before it launches anything, so outputs are what they were.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from portadnn import capability
from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionFwdAlgo, DnnEnum
from portadnn.errors import DnnError, NotSupported
from portadnn.ops.convolution.calls import ConvolutionBackwardData, ConvolutionBackwardFilter, ConvolutionForward
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem, every_problem

from ..base import Device, DeviceInfo, Engine, Plan, Run, roofline
from . import calls, calls_convolution, calls_dropout, calls_norm, calls_rnn, library
from .connection import CupyConnection
from .setting import Call, Maker, Makers, Setting

if TYPE_CHECKING:
    from ..cuda.device import CudaDevice

MAKERS: Makers = {**calls.CALLS, **calls_norm.CALLS, **calls_dropout.CALLS, **calls_rnn.CALLS}
LAST = 1e6  # seconds: more than any estimate
WIDE = 16  # how much less exact Winograd's tiles for filters of 5 x 5 are than those for 3 x 3
MOST_ANSWERS = 4096

_connections: weakref.WeakKeyDictionary[Device, CupyConnection] = weakref.WeakKeyDictionary()
_probes: dict[str, tuple[CudaDevice, CupyConnection] | None] = {}
_asking = threading.Lock()


def connection_of(device: CudaDevice) -> CupyConnection:
    """Return the handle of a device, which is made when it is first wanted.

    Raises
    ------
    DnnError
        cuDNN does not start on it.
    """
    found = _connections.get(device)
    if found is None:
        import cupy

        with device.current():
            found = _connections[device] = CupyConnection(library.load(), cupy)
    return found


def _probe(info: DeviceInfo) -> tuple[CudaDevice, CupyConnection] | None:
    """Return a device and a handle to ask what the library takes on such a one; None where there is none here."""
    if info.name not in _probes:
        from ..cuda.device import CudaDevice
        from ..cuda.devices import index_of

        index = index_of(info.name)
        if index is None:
            return None  # a device of tests
        device = CudaDevice(index, info)
        try:
            _probes[info.name] = device, connection_of(device)
        except DnnError:
            _probes[info.name] = None
    return _probes[info.name]


class CudnnEngine(Engine):
    """Calls of cuDNN, by one algorithm where the operation has any; see the module's text for what is refused when.

    Parameters
    ----------
    name
        As logs and the find database have it.
    makers
        What makes the calls, by operation.
    algo
        The algorithm; None where the operations have none.
    deterministic, factor, efficiency
        See :class:`Engine`; `efficiency` is what :func:`roofline` takes.
    """

    def __init__(
        self,
        name: str,
        makers: Makers,
        algo: DnnEnum | None = None,
        *,
        deterministic: bool = True,
        factor: float = 1.0,
        efficiency: float = 0.5,
    ) -> None:
        kinds = every_problem()
        self.name = name
        self.problems = tuple(kinds[op] for op in makers)
        self.deterministic = deterministic
        self._makers = makers
        self._algo = algo
        self._factor = factor
        self._efficiency = efficiency

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algo

    def error_factor(self, problem: Problem) -> float:
        wide = self._factor > 1 and "WINOGRAD" in str(self._algo) and max(problem.filter.dims[2:]) > 3  # type: ignore[attr-defined]
        return self._factor * (WIDE if wide else 1)

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        return roofline(problem, info, self._efficiency)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        verdict = capability.table("cudnn").judge(problem, algo=self._algo, device=info)
        return verdict.reason if verdict.answer == "no" else self._answer(problem, info)[0]

    def _answer(self, problem: Problem, info: DeviceInfo) -> tuple[str | None, int, dict[str, int]]:
        """Return what the library says: why not, bytes of workspace, bytes of byte buffers."""
        with _asking:
            probe = _probe(info)
            if probe is None:
                return None, 0, {}
            device, connection = probe
            with device.current():
                return _asked(self, problem, connection)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        return self._answer(problem, info)[1]

    def raw_size(self, problem: Problem, name: str, info: DeviceInfo) -> int:
        return self._answer(problem, info)[2].get(name, 0)

    def setting(self, connection: CupyConnection, problem: Problem) -> tuple[Setting, list[Call]]:
        """Return what the calls share, and the calls."""
        made = Setting(connection, problem)
        return made, list(self._makers[problem.op](made).values())

    def prepare(self, problem: Problem, device: Device) -> Plan:
        cuda: CudaDevice = device  # type: ignore[assignment]  # these engines are for no other
        connection = connection_of(cuda)
        with cuda.current():
            setting, made = self.setting(connection, problem)
        _check_sizes(problem, setting.least)
        return Plan(problem, self, setting.workspace, _run(cuda, connection, setting, made))


def _check_sizes(problem: Problem, least: dict[str, int]) -> None:
    for name, size in least.items():
        spec = getattr(problem, name)
        if spec.nbytes < size:
            raise NotSupported(argument=name, expected=f"at least {size} bytes for cuDNN", got=f"{spec.nbytes} bytes")


@functools.lru_cache(MOST_ANSWERS)
def _asked(engine: CudnnEngine, problem: Problem, probe: CupyConnection) -> tuple[str | None, int, dict[str, int]]:
    least: dict[str, int] = {}
    try:
        setting, _ = engine.setting(probe, problem)
        least = setting.least
        _check_sizes(problem, least)
    except DnnError as error:
        return str(error), 0, least
    return None, setting.workspace, least


def _run(device: CudaDevice, connection: CupyConnection, setting: Setting, made: Sequence[Call]) -> Run:
    before, after = setting.before, setting.after

    def run(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        with device.current():
            addresses = [array.data.ptr for array in arrays]
            setting.point(addresses, scalars, 0 if workspace is None else device.address(workspace))
            connection.use(device.stream_address())
            for step in before:
                step(connection)
            for call in made:
                call()
            for step in after:
                step(connection)

    return Run(run)


class Offered(CudnnEngine):
    """The same for the backend ``cuda``, which has engines of its own: chosen where Find measured it as the fastest.

    Its estimate is longer than any other, so that without a measurement it only takes what no other engine does.
    """

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        return LAST


# (by algorithm) whether the bits repeat, the error factor, and the share of the device's limits that is estimated
_EXACT, _ATOMIC, _SLOW, _TRANSFORMED = (True, 1.0, 0.5), (False, 1.0, 0.3), (True, 1.0, 0.3), (True, 16.0, 0.5)
_FORWARD = {
    ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM: _EXACT,
    ConvolutionFwdAlgo.IMPLICIT_GEMM: _SLOW,
    ConvolutionFwdAlgo.GEMM: _SLOW,
    ConvolutionFwdAlgo.DIRECT: _SLOW,
    ConvolutionFwdAlgo.FFT: _TRANSFORMED,
    ConvolutionFwdAlgo.FFT_TILING: _TRANSFORMED,
    ConvolutionFwdAlgo.WINOGRAD: _TRANSFORMED,
    ConvolutionFwdAlgo.WINOGRAD_NONFUSED: _TRANSFORMED,
}
_DATA = {
    ConvolutionBwdDataAlgo.ALGO_1: _EXACT,
    ConvolutionBwdDataAlgo.ALGO_0: _ATOMIC,
    ConvolutionBwdDataAlgo.FFT: _TRANSFORMED,
    ConvolutionBwdDataAlgo.FFT_TILING: _TRANSFORMED,
    ConvolutionBwdDataAlgo.WINOGRAD: _TRANSFORMED,
    ConvolutionBwdDataAlgo.WINOGRAD_NONFUSED: _TRANSFORMED,
}
_FILTER = {
    ConvolutionBwdFilterAlgo.ALGO_1: _EXACT,
    ConvolutionBwdFilterAlgo.ALGO_0: _ATOMIC,
    ConvolutionBwdFilterAlgo.ALGO_3: _ATOMIC,
    ConvolutionBwdFilterAlgo.FFT: _TRANSFORMED,
    ConvolutionBwdFilterAlgo.FFT_TILING: _TRANSFORMED,
    ConvolutionBwdFilterAlgo.WINOGRAD: _TRANSFORMED,
    ConvolutionBwdFilterAlgo.WINOGRAD_NONFUSED: _TRANSFORMED,
}
_CONVOLUTIONS: tuple[tuple[type[Problem], dict[Any, tuple[bool, float, float]], Any], ...] = (
    (ConvolutionForward, _FORWARD, calls_convolution.plain),
    (ConvolutionBackwardData, _DATA, calls_convolution.plain),
    (ConvolutionBackwardFilter, _FILTER, calls_convolution.plain),
    (ConvolutionBiasActivationForward, _FORWARD, calls_convolution.fused),
)
_DIFFERS = ("spatial_tf_grid_generator_backward", "spatial_tf_sampler_backward")  # from run to run
# what they keep for another call would be read by an engine of portadnn, which draws and lays out in its own way
_KEPT = ("dropout_forward", "rnn_backward_data", "rnn_backward_weights", "rnn_forward_training")


def _made(kind: type[CudnnEngine], without: tuple[str, ...] = ()) -> tuple[CudnnEngine, ...]:
    makers = {op: maker for op, maker in MAKERS.items() if op not in without}
    found = [kind("cudnn", {op: maker for op, maker in makers.items() if op not in _DIFFERS})]
    if atomic := {op: maker for op, maker in makers.items() if op in _DIFFERS}:
        found.append(kind("cudnn_atomic", atomic, deterministic=False))
    for problem, algorithms, maker in _CONVOLUTIONS:
        for algo, (deterministic, factor, efficiency) in algorithms.items():
            make: Maker = maker(algo)
            found.append(
                kind(
                    f"cudnn_{algo.name.lower()}",
                    {problem.op: make},
                    algo,
                    deterministic=deterministic,
                    factor=factor,
                    efficiency=efficiency,
                )
            )
    return tuple(found)


@functools.cache
def cudnn_engines() -> tuple[CudnnEngine, ...]:
    """Return the engines of the backend ``cudnn``, in order of preference."""
    return _made(CudnnEngine)


@functools.cache
def offered_engines() -> tuple[CudnnEngine, ...]:
    """Return those that the backend ``cuda`` offers besides its own, with ``PORTADNN_VENDOR=1``."""
    return _made(Offered, (*_KEPT, *_DIFFERS))
