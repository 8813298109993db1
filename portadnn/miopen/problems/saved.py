"""Solutions as bytes: JSON, with all that a problem is made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ...descriptors.layers import ConvolutionDescriptor
from ...enums import ConvolutionMode, DataType, MathType
from ...errors import BadParam
from ...problem import TensorSpec
from ..activation import ActivationSettings
from ..convolution.descriptor import ConvolutionSettings
from ..generated.enums import (
    miopenActivationMode_t,
    miopenBatchNormMode_t,
    miopenDataType_t,
    miopenSoftmaxAlgorithm_t,
    miopenSoftmaxMode_t,
    miopenTensorArgumentId_t,
    miopenTensorLayout_t,
)
from ..narrow import NarrowSpec
from ..vectors import VectorSpec
from .problem import (
    BatchnormSettings,
    BiasSettings,
    Direction,
    Fused,
    MhaSettings,
    Settings,
    Single,
    SoftmaxSettings,
)

VERSION = 1


def saved(problem: Single | Fused, solver: int, time: float, workspace: int) -> bytes:
    """Return a solution as bytes."""
    parts = problem.problems if isinstance(problem, Fused) else (problem,)
    content = {
        "portadnn": VERSION,
        "solver": solver,
        "time": time,
        "workspace": workspace,
        "fused": isinstance(problem, Fused),
        "problems": [_single(part) for part in parts],
    }
    return json.dumps(content, sort_keys=True).encode()


def loaded(data: Any) -> tuple[Single | Fused, int, float, int]:
    """Return problem, solver, time and workspace of a solution's bytes.

    Raises
    ------
    BadParam
        The bytes are no solution, or another version's.
    """
    try:
        content = json.loads(bytes(data))
        version = content["portadnn"]
    except (ValueError, TypeError, KeyError):
        raise BadParam(argument="data", expected="what miopenSaveSolution returned", got="something else") from None
    if version != VERSION:
        raise BadParam(argument="data", expected=f"a solution of version {VERSION}", got=f"one of {version!r}")
    try:
        parts = tuple(_problem(part) for part in content["problems"])
        numbers = int(content["solver"]), float(content["time"]), int(content["workspace"])
        problem = Fused(parts) if content["fused"] else parts[0]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise BadParam(argument="data", expected="an undamaged solution", got=str(error)) from None
    return problem, *numbers


def _single(problem: Single) -> dict[str, Any]:
    return {
        "kind": type(problem.settings).__name__,
        "settings": _settings(problem.settings),
        "direction": int(problem.direction),
        "tensors": [[int(id), *_spec(spec)] for id, spec in problem.tensors.items()],
    }


def _spec(spec: TensorSpec) -> list[Any]:
    found = [spec.dtype.name, list(spec.dims), list(spec.strides)]
    if isinstance(spec, VectorSpec):
        return [*found, int(spec.layout)]
    if isinstance(spec, NarrowSpec):
        return [*found, int(spec.kind), None if spec.cast is None else int(spec.cast)]
    return found


def _read_spec(dtype: str, dims: list[Any], strides: list[Any], *more: Any) -> TensorSpec:
    layout = DataType[dtype], tuple(map(int, dims)), tuple(map(int, strides))
    if not more:
        return TensorSpec(*layout)
    if len(more) == 1:
        return VectorSpec(*layout, layout=miopenTensorLayout_t(*more))
    kind, cast = more
    return NarrowSpec(*layout, kind=miopenDataType_t(kind), cast=None if cast is None else miopenDataType_t(cast))


def _settings(settings: Settings) -> dict[str, Any]:
    if not isinstance(settings, ConvolutionSettings):
        return {name: int(v) if hasattr(v, "name") else v for name, v in vars(settings).items() if name in _FIELDS}
    conv = settings.conv
    return {
        "padding": conv.padding,
        "stride": conv.stride,
        "dilation": conv.dilation,
        "groups": conv.groups,
        "mode": conv.mode.name,
        "compute_type": conv.compute_type and conv.compute_type.name,
        "math": conv.math.name,
        "transposed": settings.transposed,
        "extra": settings.extra,
        "attributes": sorted((int(key), value) for key, value in settings.attributes.items()),
    }


_FIELDS = ("alpha", "beta", "gamma", "algorithm", "mode", "scale", "running")


def _problem(part: dict[str, Any]) -> Single:
    tensors = {
        miopenTensorArgumentId_t(id): _read_spec(dtype, dims, strides, *more)
        for id, dtype, dims, strides, *more in part["tensors"]
    }
    return Single(_KINDS[part["kind"]](part["settings"]), Direction(part["direction"]), tensors)


def _convolution(values: dict[str, Any]) -> ConvolutionSettings:
    compute = values["compute_type"]
    geometry = {name: tuple(map(int, values[name])) for name in ("padding", "stride", "dilation")}
    conv = ConvolutionDescriptor(
        geometry["padding"],
        geometry["stride"],
        geometry["dilation"],
        groups=int(values["groups"]),
        mode=ConvolutionMode[values["mode"]],
        compute_type=DataType[compute] if compute else None,
        math=MathType[values["math"]],
    )
    attributes = {int(key): int(value) for key, value in values["attributes"]}
    return ConvolutionSettings(
        conv, bool(values["transposed"]), tuple(map(int, values["extra"])), attributes=attributes
    )


_KINDS: dict[str, Callable[[dict[str, Any]], Settings]] = {
    "ConvolutionSettings": _convolution,
    "ActivationSettings": lambda v: ActivationSettings(
        miopenActivationMode_t(v["mode"]), float(v["alpha"]), float(v["beta"]), float(v["gamma"])
    ),
    "SoftmaxSettings": lambda v: SoftmaxSettings(
        float(v["alpha"]),
        float(v["beta"]),
        miopenSoftmaxAlgorithm_t(v["algorithm"]),
        miopenSoftmaxMode_t(v["mode"]),
    ),
    "MhaSettings": lambda v: MhaSettings(float(v["scale"])),
    "BatchnormSettings": lambda v: BatchnormSettings(miopenBatchNormMode_t(v["mode"]), bool(v["running"])),
    "BiasSettings": lambda v: BiasSettings(),
}
