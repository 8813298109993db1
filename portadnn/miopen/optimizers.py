"""Adam, fused."""

from __future__ import annotations

from typing import Any

from ..dispatch.problems import check_handle
from ..enums import DataType
from ..errors import BadParam
from ..handle import Handle
from ..ops.optimizers import adam
from ..problem import TensorSpec
from .descriptors import spec_of, view, wide_of
from .names import boolean, integer, number


def _like(handle: Handle, param: TensorSpec, desc: Any, data: Any, name: str) -> Any:
    """Return memory as a tensor of the parameters' dims; packed tensors of other dims may have as many numbers."""
    spec = wide_of(desc, f"{name}Desc")
    if spec.dims != param.dims:
        if spec.size != param.size or not spec.is_packed():
            raise BadParam(argument=f"{name}Desc", expected=f"{param.size} numbers, as param", got=spec.dims)
        spec = TensorSpec.packed(spec.dtype, param.dims)
    return view(handle, spec, data, name)


def _one(handle: Handle, desc: Any, data: Any, name: str, dtype: DataType) -> Any:
    """Return one number, or None for C's null pointer."""
    if data is None:
        return None
    if spec_of(desc, f"{name}Desc").size < 1:
        raise BadParam(argument=f"{name}Desc", expected="one number", got=spec_of(desc, f"{name}Desc").dims)
    return view(handle, TensorSpec.packed(dtype, (1,)), data, name)


def _step(handle: Handle, c: dict[str, Any], tensors: dict[str, tuple[str, str]], **flags: bool) -> None:
    """Make a step with C's arguments: tensors by our name and that in C, as it is read and as it is written."""
    check_handle(handle)
    first = f"{tensors['param'][0]}Desc"
    spec = wide_of(c[first], first)
    given: dict[str, Any] = {}
    for ours, (read, written) in tensors.items():
        if c[read] is None and ours == "max_exp_avg_sq":
            continue
        given[ours] = _like(handle, spec, c[f"{read}Desc"], c[read], read)
        if ours != "grad":
            given[f"{ours}_out"] = _like(handle, spec, c[f"{written}Desc"], c[written], written)
    if not flags.get("amsgrad"):
        given.pop("max_exp_avg_sq", None)
        given.pop("max_exp_avg_sq_out", None)
    if c.get("paramOutFloat16") is not None:
        half = _like(handle, spec, c["paramOutFloat16Desc"], c["paramOutFloat16"], "paramOutFloat16")
        given["param_half"] = half
    read, written = ("stateStepIn", "stateStepOut") if "stateStepIn" in c else ("stateStep", "stateStep")
    given["state_step"] = _one(handle, c[f"{read}Desc"], c[read], read, DataType.INT32)
    if given["state_step"] is not None:
        given["state_step_out"] = _one(handle, c[f"{written}Desc"], c[written], written, DataType.INT32)
    given["grad_scale"] = _one(handle, c["gradScaleDesc"], c["gradScale"], "gradScale", DataType.INT32)
    given["found_inf"] = _one(handle, c["foundInfDesc"], c["foundInf"], "foundInf", DataType.UINT8)
    numbers: dict[str, Any] = {name: number(c[name], name) for name in ("lr", "beta1", "beta2", "weight_decay", "eps")}
    if "step_size" in c:
        numbers["step_size"] = number(c["step_size"], "step_size")
    count = 1 if given["state_step"] is not None else integer(c["state_step"], "state_step", 0)
    param, grad, mean, square = (given.pop(name) for name in ("param", "grad", "exp_avg", "exp_avg_sq"))
    adam(handle, param, grad, mean, square, **given, **numbers, step=count, **flags)


_IN_PLACE = {
    "param": ("param", "param"),
    "grad": ("grad", "grad"),
    "exp_avg": ("expAvg", "expAvg"),
    "exp_avg_sq": ("expAvgSq", "expAvgSq"),
}
_TO_OUTPUTS = {
    "param": ("paramIn", "paramOut"),
    "grad": ("gradIn", "gradIn"),
    "exp_avg": ("expAvgIn", "expAvgOut"),
    "exp_avg_sq": ("expAvgSqIn", "expAvgSqOut"),
}


def _flags(c: dict[str, Any], *names: str) -> dict[str, bool]:
    return {name: boolean(c[name], name) for name in names}


def miopenFusedAdam(handle, *, amsgrad, maximize, adamw, **c):
    flags = _flags({"amsgrad": amsgrad, "maximize": maximize, "adamw": adamw}, "amsgrad", "maximize", "adamw")
    _step(handle, c, {**_IN_PLACE, "max_exp_avg_sq": ("maxExpAvgSq", "maxExpAvgSq")}, **flags)


def miopenFusedAdamWithOutput(handle, *, amsgrad, maximize, adamw, **c):
    flags = _flags({"amsgrad": amsgrad, "maximize": maximize, "adamw": adamw}, "amsgrad", "maximize", "adamw")
    _step(handle, c, {**_TO_OUTPUTS, "max_exp_avg_sq": ("maxExpAvgSqIn", "maxExpAvgSqOut")}, **flags)


def miopenTransformersAdamW(handle, *, correct_bias, **c):
    _step(handle, c, _IN_PLACE, transformers=True, correct_bias=boolean(correct_bias, "correct_bias"))


def miopenTransformersAdamWWithOutput(handle, *, correct_bias, **c):
    _step(handle, c, _TO_OUTPUTS, transformers=True, correct_bias=boolean(correct_bias, "correct_bias"))
