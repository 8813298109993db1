"""Convolution on CPUs by way of channels-last copies: image and result are transposed, the filter is packed anyway.

Copies pay where pixels are few beside products: short rows, which vectors of pixels would not fill, and strides of data
gradients, which would scatter them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from portadnn.enums import DnnEnum, TensorFormat
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionForward
from portadnn.ops.tensor import TransformTensor
from portadnn.problem import Problem, TensorSpec

from ....base import (
    Arg,
    ConstantArg,
    Device,
    DeviceInfo,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from ...rounding import round_up
from ...transpose import TransposeCpuEngine
from .channels_last import ConvChannelsLastCpu
from .common import ConvCpu

_PRODUCT, _TRANSPOSE = ConvChannelsLastCpu(), TransposeCpuEngine()
_ALIGNMENT = 256
# Beside other engines, fitted on ResNet-50's layers and drawn ones: times as long as the product's estimate, clocks of
# an element that is transposed, seconds of both launches
_PRODUCT_SHARE, _CLOCKS, _START = 1.1, 1.5, 20e-6


def _turned(problem: Convolution) -> Convolution:
    """Return the same convolution of channels-last tensors."""
    names = (problem.roles[0], problem.roles[2])
    specs = (problem.image, problem.result)
    last = (TensorSpec.packed(spec.dtype, spec.dims, TensorFormat.NHWC) for spec in specs)
    return replace(problem, **dict(zip(names, last, strict=True)))


def _copies(problem: Convolution) -> tuple[TransformTensor, TransformTensor]:
    """Return what transposes the tensor that is read, and what transposes the one that is written back."""
    turned = _turned(problem)
    images, results = (problem.image, turned.image), (problem.result, turned.result)
    backward = isinstance(problem, ConvolutionBackwardData)
    source, target = (results, images) if backward else (images, results)
    return TransformTensor(*source), TransformTensor(*target[::-1])


def _space(spec: TensorSpec) -> int:
    return round_up(spec.size * spec.dtype.itemsize, _ALIGNMENT)


def _with_args(launch: Launch, places: Mapping[Arg, Arg], behind: int = 0) -> Launch:
    """Return a launch with other arguments; what it has in the workspace begins `behind` bytes later."""

    def moved(arg: Arg) -> Arg:
        if isinstance(arg, WorkspaceArg):
            return replace(arg, offset=arg.offset + behind)
        return arg if isinstance(arg, ConstantArg) else places.get(arg, arg)  # sizes have no hash

    return replace(launch, args=tuple(map(moved, launch.args)))


class ConvTransposedCpu(ConvCpu):
    """Forward and backward data: a transposition before and one behind the launches of channels-last tensors."""

    name = "transposed_cpu"
    problems = (ConvolutionForward, ConvolutionBackwardData)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return _PRODUCT.algo(problem)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        if reason is None and not (problem.image.size and problem.result.size):
            reason = "there is nothing to transpose"
        if reason is None and problem.dtype is not problem.dtype.accumulator:
            reason = "it leaves sums between launches, in the type of tensors"
        reasons = (_TRANSPOSE.why_not(copy, info) for copy in _copies(problem)) if reason is None else ()
        return reason or next(filter(None, reasons), None) or _PRODUCT.why_not(_turned(problem), info)

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        elements = problem.image.size + problem.result.size
        clocks = _CLOCKS * elements * 4 * max(info.simd_width, 1) / info.flops
        return _PRODUCT_SHARE * _PRODUCT.seconds(_turned(problem), info) + clocks + _START

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return _space(problem.image) + _space(problem.result) + _PRODUCT.workspace(_turned(problem), info)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        product = _PRODUCT.prepare(_turned(problem), device)
        before, behind = (_TRANSPOSE.prepare(copy, device).launches[0] for copy in _copies(problem))
        real, source = problem.dtype, int(isinstance(problem, ConvolutionBackwardData))
        plain: dict[Arg, Arg] = {ScalarArg(i, real): ConstantArg(real.numpy.type(1 - i)) for i in (0, 1)}
        copied, made = WorkspaceArg(0, real), WorkspaceArg(_space(problem.tensors[source]), real)
        places = plain | {TensorArg(source): copied, TensorArg(2): made}
        space = _space(problem.image) + _space(problem.result)
        launches = (
            _with_args(before, plain | {TensorArg(0): TensorArg(source), TensorArg(1): copied}),
            *(_with_args(launch, places, space) for launch in product.launches),
            _with_args(behind, {TensorArg(0): made, TensorArg(1): TensorArg(2)}),
        )
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


ENGINES = (ConvTransposedCpu(),)
