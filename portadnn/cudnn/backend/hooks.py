"""What the table of attributes does not say of operations: which kind of node, and what follows from what was set."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...errors import BadParam, NotSupported
from ...graph.enums import norm_forward_phase, pointwise_mode
from ...graph.pointwise_modes import MODES
from .node import NodeCall
from .objects import BackendDescriptor

TRAINING = norm_forward_phase.TRAINING


def _pointwise(descriptor: BackendDescriptor, call: NodeCall) -> None:
    """Sort the tensors, which gradients have others of; leave out parameters that the mode does not heed, as cuDNN."""
    prefix = "OPERATION_POINTWISE_"
    mode: pointwise_mode = call.attributes["mode"]
    how = MODES[mode]
    backward = ("DYDESC", "DXDESC")
    forward = (*("XDESC", "BDESC", "TDESC")[: how.operands], "YDESC")
    wanted = ("DYDESC", "XDESC", "DXDESC") if how.backward else forward
    given = [name for name in ("XDESC", "BDESC", "TDESC", "YDESC", *backward) if descriptor.many(prefix + name)]
    if how.backward and "YDESC" in given:
        given.remove("YDESC")  # cuDNN takes it besides x; the gradients here are functions of x
    if set(given) != set(wanted):
        raise BadParam(
            argument="descriptor",
            expected=f"the tensors {', '.join(wanted)} for CUDNN_POINTWISE_{mode} ({how.formula})",
            got=", ".join(given),
        )
    ports = dict(zip(wanted, ("IN_0", "IN_1", "IN_2"), strict=False))
    call.inputs = {ports[name]: descriptor.one(prefix + name) for name in wanted[:-1]}
    call.outputs = {"OUT_0": descriptor.one(prefix + wanted[-1])}
    unlimited = call.attributes.get("relu_upper_clip", 0.0) >= LARGEST
    heeded = {"mode", *how.parameters} - ({"relu_upper_clip"} if unlimited else set())
    call.attributes = {name: value for name, value in call.attributes.items() if name in heeded}
    factors = {"IN_0": "ALPHA1", "IN_1": "ALPHA2"}
    call.scales = {port: descriptor.one(prefix + name, 1.0) for port, name in factors.items() if port in call.inputs}


LARGEST = 3.4028234e38  # of floats: as an upper clip it clips nothing


def _blended(stem: str, *, scaled: bool) -> Callable[[BackendDescriptor, NodeCall], None]:
    """Return what heeds alpha and beta of an operation, and refuses those that graphs do not have."""

    def blend(descriptor: BackendDescriptor, call: NodeCall) -> None:
        alpha, beta = descriptor.one(f"OPERATION_{stem}_ALPHA", 1.0), descriptor.one(f"OPERATION_{stem}_BETA", 0.0)
        if beta != 0.0:
            raise NotSupported(
                argument=f"CUDNN_ATTR_OPERATION_{stem}_BETA",
                expected="0: graphs write their outputs, and add a tensor with CUDNN_POINTWISE_ADD",
                got=beta,
            )
        if scaled:
            call.scales[""] = alpha
        elif alpha != 1.0:
            raise NotSupported(argument=f"CUDNN_ATTR_OPERATION_{stem}_ALPHA", expected="1", got=alpha)

    return blend


def _resample(descriptor: BackendDescriptor, call: NodeCall) -> None:
    _blended("RESAMPLE_FWD", scaled=False)(descriptor, call)
    _window(call)
    call.attributes["generate_index"] = "INDEX" in call.outputs


def _resample_backward(descriptor: BackendDescriptor, call: NodeCall) -> None:
    _blended("RESAMPLE_BWD", scaled=False)(descriptor, call)
    _window(call)


def _window(call: NodeCall) -> None:
    """Demand whole windows."""
    window = call.attributes["window"]
    if any(size != math.floor(size) for size in window):
        raise NotSupported(argument="CUDNN_ATTR_RESAMPLE_WINDOW_DIMS", expected="whole numbers", got=window)
    call.attributes["window"] = tuple(int(size) for size in window)


def _finalize_statistics(descriptor: BackendDescriptor, call: NodeCall) -> None:
    mode = descriptor.one("OPERATION_BN_FINALIZE_STATS_MODE").name
    if not mode.endswith("_TRAINING"):
        raise NotSupported(
            argument="CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE",
            expected="CUDNN_BN_FINALIZE_STATISTICS_TRAINING; the norm forward operation has inference",
            got=mode,
        )


_NORMS = {
    "CUDNN_LAYER_NORM": "layernorm",
    "CUDNN_INSTANCE_NORM": "instancenorm",
    "CUDNN_BATCH_NORM": "batchnorm",
    "CUDNN_RMS_NORM": "rmsnorm",
    "CUDNN_ADA_LAYER_NORM": "adalayernorm",
}


def _norm_kind(descriptor: BackendDescriptor, name: str) -> str:
    mode = descriptor.one(name).name
    if mode not in _NORMS:
        raise NotSupported(argument=f"CUDNN_ATTR_{name}", expected=f"one of {', '.join(_NORMS)}", got=mode)
    return _NORMS[mode]


def _norm(descriptor: BackendDescriptor, call: NodeCall) -> None:
    kind, phase = _norm_kind(descriptor, "OPERATION_NORM_FWD_MODE"), descriptor.one("OPERATION_NORM_FWD_PHASE")
    call.kind = kind
    statistics = ("MEAN", "INV_VARIANCE")
    if kind == "batchnorm" and phase is not TRAINING:  # which reads what training has written
        call.kind = "batchnorm_inference"
        call.inputs.update({port: call.outputs.pop(port) for port in statistics if port in call.outputs})
        call.inputs.pop("EPSILON", None)
        return
    if kind != "batchnorm":
        call.attributes["phase"] = phase
    missing = [port for port in statistics if port not in call.outputs and (kind, port) != ("rmsnorm", "MEAN")]
    if phase is TRAINING and missing:
        names = ", ".join(f"CUDNN_ATTR_OPERATION_NORM_FWD_{port}_DESC" for port in missing)
        raise BadParam(argument="descriptor", expected=f"{names} for CUDNN_NORM_FWD_TRAINING", got="none")


def _norm_backward(descriptor: BackendDescriptor, call: NodeCall) -> None:
    kind = _norm_kind(descriptor, "OPERATION_NORM_BWD_MODE")
    call.kind = f"{kind}_backward"
    if kind == "rmsnorm":  # whose ports are named otherwise
        for port, name in (("DSCALE", "Dscale"), ("DBIAS", "Dbias")):
            if port in call.outputs:
                call.outputs[name] = call.outputs.pop(port)
        call.attributes["has_dbias"] = "Dbias" in call.outputs
    elif "DBIAS" not in call.outputs:
        raise BadParam(argument="CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC", expected="a tensor", got="none")


def _slice(descriptor: BackendDescriptor, call: NodeCall) -> None:
    prefix = "OPERATION_SLICE_"
    starts, limits = descriptor.many(prefix + "START_INDICES"), descriptor.many(prefix + "LIMIT_INDICES")
    steps = descriptor.many(prefix + "STRIDES") or (1,) * len(starts)
    rank = len(call.inputs["X"].info.dims)
    if not len(starts) == len(limits) == len(steps) == rank:
        got = f"{len(starts)}, {len(limits)} and {len(steps)}"
        raise BadParam(argument="descriptor", expected=f"{rank} starts, limits and strides", got=got)
    call.attributes["slices"] = tuple(slice(*part) for part in zip(starts, limits, steps, strict=True))


def _rng(descriptor: BackendDescriptor, call: NodeCall) -> None:
    seed = descriptor.given["OPERATION_RNG_SEED"]
    if seed.type == "BACKEND_DESCRIPTOR":
        call.inputs["SEED"] = seed.meanings[0]
    else:
        call.attributes["seed"] = seed.meanings[0]


def _softmax(descriptor: BackendDescriptor, call: NodeCall) -> None:
    call.attributes["use_stats"] = "STATS" in call.outputs


def _attention(descriptor: BackendDescriptor, call: NodeCall) -> None:
    call.attributes["use_padding_mask"] = "SEQ_LEN_Q" in call.inputs or "SEQ_LEN_KV" in call.inputs
    if call.kind == "sdpa":
        call.attributes["generate_stats"] = "STATS" in call.outputs


HOOKS: dict[str, Callable[[BackendDescriptor, NodeCall], None]] = {
    "OPERATION_POINTWISE": _pointwise,
    "OPERATION_CONVOLUTION_FORWARD": _blended("CONVOLUTION_FORWARD", scaled=True),
    "OPERATION_CONVOLUTION_BACKWARD_DATA": _blended("CONVOLUTION_BWD_DATA", scaled=True),
    "OPERATION_CONVOLUTION_BACKWARD_FILTER": _blended("CONVOLUTION_BWD_FILTER", scaled=True),
    "OPERATION_RESAMPLE_FWD": _resample,
    "OPERATION_RESAMPLE_BWD": _resample_backward,
    "OPERATION_BN_FINALIZE_STATISTICS": _finalize_statistics,
    "OPERATION_NORM_FORWARD": _norm,
    "OPERATION_NORM_BACKWARD": _norm_backward,
    "OPERATION_SLICE": _slice,
    "OPERATION_RNG": _rng,
    "OPERATION_SOFTMAX": _softmax,
    "OPERATION_SDPA_FWD": _attention,
    "OPERATION_SDPA_BWD": _attention,
}
