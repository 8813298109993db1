"""Convolutions: workspace sizes, Find, and the three directions.

As in MIOpen, a convolution runs only after the Find call of its direction was made for the same problem (descriptors)
with the same handle. The order of calls: workspace size, Find with such a workspace, convolution.
"""

from __future__ import annotations

from typing import Any

from ...dispatch.execute import execute
from ...dispatch.problems import check_handle
from ...enums import ActivationMode, NanPropagation
from ...errors import NotSupported
from ...handle import Handle
from ...layer_descriptors import ActivationDescriptor
from ...ops.convolution.algorithms import find_workspace_size
from ...ops.convolution.calls import convolution_backward_bias
from ...ops.convolution.fused import convolution_bias_activation_forward
from ...problem import TensorSpec
from ..activation import activation_settings, miopenActivationDescriptor_t
from ..descriptors import miopenTensorDescriptor_t, tensor, wide_of
from ..enums import miopenActivationMode_t, miopenConvFwdAlgorithm_t, miopenStatus_t
from ..names import boolean, function, integer, one_and_zero, parse, refuse
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
from .descriptor import ConvolutionSettings, convolution_settings, miopenConvolutionDescriptor_t

Specs = tuple[TensorSpec, TensorSpec, TensorSpec]  # image, filter, result


def find_size(direction: Direction, handle: Handle, convDesc: Any, specs: Specs) -> int:
    """Return the workspace that Find can use."""
    settings = convolution_settings(convDesc)
    computation = direction.computation(settings)
    return find_workspace_size(
        check_handle(handle), computation.direction.kind, arranged(computation, settings, specs), settings.conv
    )


def _find(
    direction: Direction,
    handle: Handle,
    convDesc: Any,
    specs: Specs,
    tensors: tuple[Any, Any, Any],
    count: Any,
    workspace: Any,
    size: Any,
    exhaustive: Any,
) -> tuple[int, list[miopenConvAlgoPerf_t]]:
    settings = convolution_settings(convDesc)
    wanted = integer(count, "requestAlgoCount", 1)
    boolean(exhaustive, "exhaustiveSearch")
    given_workspace(handle, workspace, size, 0)
    found = search(direction, handle, settings, specs, tensors, workspace, integer(size, "workSpaceSize"))
    if not found:
        refuse(
            "no suitable algorithm was found to execute the convolution",
            argument="workSpaceSize",
            expected=f"up to {find_size(direction, handle, convDesc, specs)} bytes",
            got=size,
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
    specs: Specs,
    tensors: tuple[Any, Any, Any],
    workspace: Any,
    size: Any,
) -> None:
    settings = convolution_settings(convDesc)
    if len(specs[0].dims) == 4:
        one_and_zero(alpha, beta, status=miopenStatus_t.miopenStatusNotImplemented)
    named = parse(direction.algorithm, algo, "algo")
    entry = found_algorithm(direction, handle, settings, specs, named)
    scratch = given_workspace(handle, workspace, size, entry.memory)
    compute(direction, handle, settings, tensors, (alpha, beta), entry.algo, scratch)


def compute(
    direction: Direction,
    handle: Handle,
    settings: ConvolutionSettings,
    tensors: tuple[Any, Any, Any],
    scalars: tuple[Any, Any],
    algo: Any,
    workspace: Any,
) -> None:
    """Run a direction with one of portadnn's algorithms."""
    computation = direction.computation(settings)
    given = arranged(computation, settings, tensors)
    execute(handle, computation.direction.kind, given, settings.conv, scalars, algo=algo, workspace=workspace)


@function
def miopenConvolutionForwardGetWorkSpaceSize(
    handle: Handle,
    wDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes with which Find can try every algorithm; they do for the convolution as well."""
    specs = wide_of(xDesc, "xDesc"), wide_of(wDesc, "wDesc"), wide_of(yDesc, "yDesc")
    return find_size(FORWARD, handle, convDesc, specs)


@function
def miopenFindConvolutionForwardAlgorithm(
    handle: Handle,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    requestAlgoCount: int,
    workSpace: Any,
    workSpaceSize: int,
    exhaustiveSearch: bool,
) -> tuple[int, list[miopenConvAlgoPerf_t]]:
    """Time the algorithms, and return (returnedAlgoCount, perfResults), the fastest first.

    y is overwritten. The convolution can run from now on, with this handle and descriptors like these. Nothing is
    tuned, so that `exhaustiveSearch` makes no difference.
    """
    tensors = tensor(handle, xDesc, x, "x"), tensor(handle, wDesc, w, "w"), tensor(handle, yDesc, y, "y")
    specs = xDesc.wide, wDesc.wide, yDesc.wide
    return _find(
        FORWARD, handle, convDesc, specs, tensors, requestAlgoCount, workSpace, workSpaceSize, exhaustiveSearch
    )


@function
def miopenConvolutionForward(
    handle: Handle,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    algo: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    workSpace: Any,
    workSpaceSize: int,
) -> None:
    """Convolve: ``y = conv(x, w)``; with alpha = 1 and beta = 0, but for 3-D convolutions.

    Raises
    ------
    BadParam
        Find was not called for this problem with this handle, or did not find the algorithm; or the workspace is
        smaller than Find said.
    """
    tensors = tensor(handle, xDesc, x, "x"), tensor(handle, wDesc, w, "w"), tensor(handle, yDesc, y, "y")
    specs = xDesc.wide, wDesc.wide, yDesc.wide
    _run(FORWARD, handle, alpha, beta, convDesc, algo, specs, tensors, workSpace, workSpaceSize)


@function
def miopenConvolutionBackwardDataGetWorkSpaceSize(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    wDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dxDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes with which Find can try every algorithm."""
    specs = wide_of(dxDesc, "dxDesc"), wide_of(wDesc, "wDesc"), wide_of(dyDesc, "dyDesc")
    return find_size(DATA, handle, convDesc, specs)


@function
def miopenFindConvolutionBackwardDataAlgorithm(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    requestAlgoCount: int,
    workSpace: Any,
    workSpaceSize: int,
    exhaustiveSearch: bool,
) -> tuple[int, list[miopenConvAlgoPerf_t]]:
    """Time the algorithms of the gradient by the input: miopenFindConvolutionForwardAlgorithm tells the rest."""
    tensors = tensor(handle, dxDesc, dx, "dx"), tensor(handle, wDesc, w, "w"), tensor(handle, dyDesc, dy, "dy")
    specs = dxDesc.wide, wDesc.wide, dyDesc.wide
    return _find(DATA, handle, convDesc, specs, tensors, requestAlgoCount, workSpace, workSpaceSize, exhaustiveSearch)


@function
def miopenConvolutionBackwardData(
    handle: Handle,
    alpha: float,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    algo: Any,
    beta: float,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    workSpace: Any,
    workSpaceSize: int,
) -> None:
    """Compute the gradient by the input; miopenConvolutionForward tells what it demands."""
    tensors = tensor(handle, dxDesc, dx, "dx"), tensor(handle, wDesc, w, "w"), tensor(handle, dyDesc, dy, "dy")
    specs = dxDesc.wide, wDesc.wide, dyDesc.wide
    _run(DATA, handle, alpha, beta, convDesc, algo, specs, tensors, workSpace, workSpaceSize)


@function
def miopenConvolutionBackwardWeightsGetWorkSpaceSize(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    convDesc: miopenConvolutionDescriptor_t,
    dwDesc: miopenTensorDescriptor_t,
) -> int:
    """Return the bytes with which Find can try every algorithm."""
    specs = wide_of(xDesc, "xDesc"), wide_of(dwDesc, "dwDesc"), wide_of(dyDesc, "dyDesc")
    return find_size(WEIGHTS, handle, convDesc, specs)


@function
def miopenFindConvolutionBackwardWeightsAlgorithm(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    convDesc: miopenConvolutionDescriptor_t,
    dwDesc: miopenTensorDescriptor_t,
    dw: Any,
    requestAlgoCount: int,
    workSpace: Any,
    workSpaceSize: int,
    exhaustiveSearch: bool,
) -> tuple[int, list[miopenConvAlgoPerf_t]]:
    """Time the algorithms of the gradient by the filter: miopenFindConvolutionForwardAlgorithm tells the rest."""
    tensors = tensor(handle, xDesc, x, "x"), tensor(handle, dwDesc, dw, "dw"), tensor(handle, dyDesc, dy, "dy")
    specs = xDesc.wide, dwDesc.wide, dyDesc.wide
    return _find(
        WEIGHTS, handle, convDesc, specs, tensors, requestAlgoCount, workSpace, workSpaceSize, exhaustiveSearch
    )


@function
def miopenConvolutionBackwardWeights(
    handle: Handle,
    alpha: float,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    convDesc: miopenConvolutionDescriptor_t,
    algo: Any,
    beta: float,
    dwDesc: miopenTensorDescriptor_t,
    dw: Any,
    workSpace: Any,
    workSpaceSize: int,
) -> None:
    """Compute the gradient by the filter; miopenConvolutionForward tells what it demands."""
    tensors = tensor(handle, xDesc, x, "x"), tensor(handle, dwDesc, dw, "dw"), tensor(handle, dyDesc, dy, "dy")
    specs = xDesc.wide, dwDesc.wide, dyDesc.wide
    _run(WEIGHTS, handle, alpha, beta, convDesc, algo, specs, tensors, workSpace, workSpaceSize)


@function
def miopenConvolutionBackwardBias(
    handle: Handle,
    alpha: float,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    beta: float,
    dbDesc: miopenTensorDescriptor_t,
    db: Any,
) -> None:
    """Compute the gradient by the bias, with alpha = 1 and beta = 0."""
    gradient, out = tensor(handle, dyDesc, dy, "dy"), tensor(handle, dbDesc, db, "db")
    one_and_zero(alpha, beta)
    convolution_backward_bias(handle, gradient, out)


@function
def miopenConvolutionBiasActivationForward(
    handle: Handle,
    alpha1: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    wDesc: miopenTensorDescriptor_t,
    w: Any,
    convDesc: miopenConvolutionDescriptor_t,
    algo: Any,
    workspace: Any,
    workspaceSizeInBytes: int,
    alpha2: float,
    zDesc: miopenTensorDescriptor_t | None,
    z: Any,
    biasDesc: miopenTensorDescriptor_t,
    bias: Any,
    activationDesc: miopenActivationDescriptor_t,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
) -> None:
    """Compute ``y = relu(alpha1 * conv(x, w) + alpha2 * z + bias)``, without Find.

    As in MIOpen, the activation is miopenActivationRELU and there is no workspace: the handle has one. z may be None
    where alpha2 is 0. The algorithm is one that portadnn may choose the kernels of.
    """
    settings = convolution_settings(convDesc)
    tensors = tensor(handle, xDesc, x, "x"), tensor(handle, wDesc, w, "w")
    named = parse(miopenConvFwdAlgorithm_t, algo, "algo")
    given_workspace(handle, workspace, workspaceSizeInBytes, 0, "workspace")
    mode = activation_settings(activationDesc).mode
    if mode is not miopenActivationMode_t.miopenActivationRELU:
        raise NotSupported(argument="activationDesc", expected="miopenActivationRELU", got=mode.name)
    if settings.transposed:
        raise NotSupported(argument="convDesc", expected="the mode miopenConvolution", got="miopenTranspose")
    added, out = None if z is None else tensor(handle, zDesc, z, "z"), tensor(handle, yDesc, y, "y")
    offset = tensor(handle, biasDesc, bias, "bias")
    activation = ActivationDescriptor(ActivationMode.RELU, NanPropagation.PROPAGATE_NAN)
    algos = {int(theirs): ours for theirs, ours in FORWARD_ALGORITHMS.items()}.get(int(named), ())
    reasons = []
    for wanted in algos:
        try:
            convolution_bias_activation_forward(
                handle,
                *tensors,
                settings.conv,
                offset,
                activation,
                out,
                z=added,
                alpha1=alpha1,
                alpha2=alpha2,
                algo=wanted,
            )
            return
        except NotSupported as error:
            reasons.append(str(error))
    raise NotSupported(
        "; ".join(reasons), argument="algo", expected="an algorithm that takes the problem", got=named.name
    )
