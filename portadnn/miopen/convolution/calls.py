"""Convolutions: workspace sizes, Find, and the three directions.

As in MIOpen, a convolution runs only after the Find call of its direction was made for the same problem (descriptors)
with the same handle. The order of calls: workspace size, Find with such a workspace, convolution.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...descriptors.layers import ActivationDescriptor
from ...dispatch.execute import execute
from ...dispatch.problems import check_handle
from ...enums import ActivationMode, NanPropagation
from ...errors import NotSupported
from ...handle import Handle
from ...ops.convolution.algorithms import find_workspace_size
from ...ops.convolution.calls import convolution_backward_bias
from ...ops.convolution.fused import convolution_bias_activation_forward
from ...problem import TensorSpec
from ..descriptors import of_any_layout, wide_of
from ..generated.enums import miopenActivationMode_t, miopenConvFwdAlgorithm_t, miopenStatus_t
from ..names import boolean, integer, one_and_zero, parse, refuse
from ..workspaces import given_workspace
from .algorithms import (
    DATA,
    FORWARD,
    FORWARD_ALGORITHMS,
    WEIGHTS,
    Direction,
    arranged,
    found_algorithm,
    miopenConvAlgoPerf_t,
    search,
)
from .descriptor import ConvolutionSettings, convolution_settings
from .special import check, convolve, is_special

Specs = tuple[TensorSpec, TensorSpec, TensorSpec]  # image, filter, result


def specs_of(direction: Direction, c: Mapping[str, Any]) -> Specs:
    """Return what the descriptors of image, filter and result say, of C's arguments by name."""
    image, weights, result = (wide_of(c[f"{name}Desc"], f"{name}Desc", True) for name in direction.memory)
    return image, weights, result


def tensors_of(direction: Direction, handle: Handle, c: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return image, filter and result as arrays, of C's arguments by name."""
    image, weights, result = (of_any_layout(handle, c[f"{name}Desc"], c[name], name) for name in direction.memory)
    return image, weights, result


def find_size(direction: Direction, handle: Handle, convDesc: Any, specs: Specs) -> int:
    """Return the workspace that Find can use."""
    settings = convolution_settings(convDesc)
    if is_special(specs):
        check(direction, settings, specs)
        return 0
    computation = direction.computation(settings)
    return find_workspace_size(
        check_handle(handle), computation.direction.kind, arranged(computation, settings, specs), settings.conv
    )


def _find(
    direction: Direction,
    handle: Handle,
    convDesc: Any,
    requestAlgoCount: Any,
    workSpace: Any,
    workSpaceSize: Any,
    exhaustiveSearch: Any,
    **c: Any,
) -> tuple[int, list[miopenConvAlgoPerf_t]]:
    tensors, specs = tensors_of(direction, handle, c), specs_of(direction, c)
    settings = convolution_settings(convDesc)
    wanted = integer(requestAlgoCount, "requestAlgoCount", 1)
    boolean(exhaustiveSearch, "exhaustiveSearch")
    given_workspace(handle, workSpace, workSpaceSize, 0)
    size = integer(workSpaceSize, "workSpaceSize")
    found = search(direction, handle, settings, specs, tensors, workSpace, size)
    if not found:
        refuse(
            "no suitable algorithm was found to execute the convolution",
            argument="workSpaceSize",
            expected=f"up to {find_size(direction, handle, convDesc, specs)} bytes",
            got=workSpaceSize,
        )
    perfs = [
        miopenConvAlgoPerf_t(
            **{direction.perf_field: direction.algorithm(theirs)},  # type: ignore[arg-type]
            time=entry.time,
            memory=entry.memory,
        )
        for theirs, entry in found[:wanted]
    ]
    return len(perfs), perfs


def _run(
    direction: Direction,
    handle: Handle,
    alpha: Any,
    beta: Any,
    convDesc: Any,
    algo: Any,
    workSpace: Any,
    workSpaceSize: Any,
    **c: Any,
) -> None:
    tensors, specs = tensors_of(direction, handle, c), specs_of(direction, c)
    settings = convolution_settings(convDesc)
    if len(specs[0].dims) == 4:
        one_and_zero(alpha, beta, status=miopenStatus_t.miopenStatusNotImplemented)
    named = parse(direction.algorithm, algo, "algo")
    entry = found_algorithm(direction, handle, settings, specs, named)
    scratch = given_workspace(handle, workSpace, workSpaceSize, entry.memory)
    compute(direction, handle, settings, specs, tensors, (alpha, beta), entry.algo, scratch)


def compute(
    direction: Direction,
    handle: Handle,
    settings: ConvolutionSettings,
    specs: Specs,
    tensors: tuple[Any, Any, Any],
    scalars: tuple[Any, Any],
    algo: Any,
    workspace: Any,
) -> None:
    """Run a direction with one of portadnn's algorithms."""
    if is_special(specs):
        one_and_zero(*scalars, status=miopenStatus_t.miopenStatusNotImplemented)
        convolve(direction, handle, settings, specs, tensors)
        return
    computation = direction.computation(settings)
    given = arranged(computation, settings, tensors)
    execute(handle, computation.direction.kind, given, settings.conv, scalars, algo=algo, workspace=workspace)


def miopenConvolutionForwardGetWorkSpaceSize(handle, convDesc, **c):
    return find_size(FORWARD, handle, convDesc, specs_of(FORWARD, c))


def miopenFindConvolutionForwardAlgorithm(**c):
    return _find(FORWARD, **c)


def miopenConvolutionForward(**c):
    _run(FORWARD, **c)


def miopenConvolutionBackwardDataGetWorkSpaceSize(handle, convDesc, **c):
    return find_size(DATA, handle, convDesc, specs_of(DATA, c))


def miopenFindConvolutionBackwardDataAlgorithm(**c):
    return _find(DATA, **c)


def miopenConvolutionBackwardData(**c):
    _run(DATA, **c)


def miopenConvolutionBackwardWeightsGetWorkSpaceSize(handle, convDesc, **c):
    return find_size(WEIGHTS, handle, convDesc, specs_of(WEIGHTS, c))


def miopenFindConvolutionBackwardWeightsAlgorithm(**c):
    return _find(WEIGHTS, **c)


def miopenConvolutionBackwardWeights(**c):
    _run(WEIGHTS, **c)


def miopenConvolutionBackwardBias(handle, dy, db, alpha, beta):
    one_and_zero(alpha, beta)
    convolution_backward_bias(handle, dy, db)


def miopenConvolutionBiasActivationForward(
    handle, conv, x, w, algo, workspace, workspaceSizeInBytes, activation, z, y, bias, alpha1, alpha2
):
    named = parse(miopenConvFwdAlgorithm_t, algo, "algo")
    given_workspace(handle, workspace, workspaceSizeInBytes, 0, "workspace")
    if activation.mode is not miopenActivationMode_t.miopenActivationRELU:
        raise NotSupported(argument="activationDesc", expected="miopenActivationRELU", got=activation.mode.name)
    if conv.transposed:
        raise NotSupported(argument="convDesc", expected="the mode miopenConvolution", got="miopenTranspose")
    relu = ActivationDescriptor(ActivationMode.RELU, NanPropagation.PROPAGATE_NAN)
    algos = {int(theirs): ours for theirs, ours in FORWARD_ALGORITHMS.items()}.get(int(named), ())
    given, options = (x, w, conv.conv, bias, relu, y), {"z": z, "alpha1": alpha1, "alpha2": alpha2}
    reasons = []
    for wanted in algos:
        try:
            convolution_bias_activation_forward(handle, *given, algo=wanted, **options)
            return
        except NotSupported as error:
            reasons.append(str(error))
    raise NotSupported(
        "; ".join(reasons), argument="algo", expected="an algorithm that takes the problem", got=named.name
    )
