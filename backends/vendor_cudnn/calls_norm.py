"""cuDNN's legacy calls of normalisations and spatial transformers."""

from __future__ import annotations

import ctypes
from typing import Any

from portadnn.problem import TensorSpec

from .library import ints
from .setting import Calls, Makers, Memory, Setting

PER_ACTIVATION, SPATIAL, SPATIAL_PERSISTENT = range(3)
BILINEAR = 0
MODES = {SPATIAL: "SPATIAL", SPATIAL_PERSISTENT: "SPATIAL_PERSISTENT", PER_ACTIVATION: "PER_ACTIVATION"}


def _lrn_descriptor(s: Setting) -> Any:
    p = s.problem
    return s.descriptor("LRN", "", p.lrn_n, p.lrn_alpha, p.lrn_beta, p.lrn_k)


def _lrn(s: Setting) -> Calls:
    how, mode = _lrn_descriptor(s), int(s.problem.mode)
    if s.problem.op.endswith("forward"):
        return s.one("cudnnLRNCrossChannelForward", how, mode, *s.blended(("x",), "y"))
    return s.one("cudnnLRNCrossChannelBackward", how, mode, *s.blended(("y", "dy", "x"), "dx"))


def _divisive(s: Setting) -> Calls:
    how, mode, nbytes = _lrn_descriptor(s), int(s.problem.mode), s.spec("x").span * s.spec("x").dtype.itemsize
    scratch = s.scratch(nbytes), s.scratch(nbytes)
    alpha, beta, x = s.number("alpha"), s.number("beta"), s.pairs("x")
    if s.problem.op.endswith("forward"):
        s.alike("x", "means")
        name = "cudnnDivisiveNormalizationForward"
        return s.one(name, how, mode, alpha, *x, s.data("means"), *scratch, beta, *s.pairs("y"))
    s.alike("x", "means", "dy")
    s.alike("dx", "dmeans")
    name, given = "cudnnDivisiveNormalizationBackward", (s.data("means"), s.data("dy"))
    return s.one(name, how, mode, alpha, *x, *given, *scratch, beta, *s.pairs("dx"), s.data("dmeans"))


def _each_mode(s: Setting, name: str, *args: Any) -> Calls:
    """Return a call in each of the modes that normalise so: there are two spatial ones, one for a limited range."""
    mode = int(s.problem.mode)
    modes = (SPATIAL, SPATIAL_PERSISTENT) if mode == SPATIAL and not s.exact else (mode,)
    return {f"{name} {MODES[mode]}": s.call(name, mode, *args) for mode in modes}


def _running(s: Setting, name: str, factor: Any) -> Any:
    """Return the place of the address of running statistics; zeros stand in for those that do not count.

    With a factor of 1 cuDNN multiplies what was there by 0, and NaN stays NaN.
    """
    given = s.data(name)
    if given is None:
        return None
    nbytes, used = s.spec(name).nbytes, ctypes.c_void_p()
    zeros = s.scratch(nbytes)

    def prepare(device: Memory) -> None:
        used.value = given.value
        if factor.value == 1:
            device.write(zeros.value, bytes(nbytes))
            used.value = zeros.value

    def finish(device: Memory) -> None:
        if factor.value == 1:
            device.copy(given.value, zeros.value, nbytes)

    s.before.append(prepare)
    s.after.append(finish)
    return used


def _batch_training(s: Setting) -> Calls:
    running, saved = ("running_mean", "running_variance"), ("saved_mean", "saved_inv_variance")
    s.packed("scale", "bias", *running, *saved)
    factor = s.value("exponential_average_factor")
    averages = (_running(s, name, factor) for name in running)
    tensors = *s.pairs("x", "y", "scale"), s.data("bias"), factor, *averages
    args = s.number("alpha"), s.number("beta"), *tensors, s.value("epsilon"), *map(s.data, saved)
    return _each_mode(s, "cudnnBatchNormalizationForwardTraining", *args)


def _batch_inference(s: Setting) -> Calls:
    s.packed("scale", "bias", "estimated_mean", "estimated_variance")
    tensors = *s.pairs("x", "y", "scale"), s.data("bias")
    statistics = s.data("estimated_mean"), s.data("estimated_variance"), s.value("epsilon")
    blend = s.number("alpha"), s.number("beta")
    return s.one("cudnnBatchNormalizationForwardInference", int(s.problem.mode), *blend, *tensors, *statistics)


def _batch_backward(s: Setting) -> Calls:
    s.packed("scale", "dscale", "dbias", "saved_mean", "saved_inv_variance")
    blend = map(s.number, ("alpha_data_diff", "beta_data_diff", "alpha_param_diff", "beta_param_diff"))
    tensors = *s.pairs("x", "dy", "dx", "scale"), s.data("dscale"), s.data("dbias")
    saved = s.data("saved_mean"), s.data("saved_inv_variance")
    return _each_mode(s, "cudnnBatchNormalizationBackward", *blend, *tensors, s.value("epsilon"), *saved)


def _transformer(s: Setting, image: TensorSpec) -> Any:
    return s.descriptor("SpatialTransformer", "Nd", BILINEAR, int(image.dtype), len(image.dims), ints(image.dims))


def _grid(s: Setting) -> Calls:
    forward = s.problem.op.endswith("forward")
    theta, grid = ("theta", "grid") if forward else ("dtheta", "dgrid")
    s.packed(theta, grid)
    n, h, w, _ = s.spec(grid).dims
    how = _transformer(s, TensorSpec.packed(s.spec(grid).dtype, (n, 1, h, w)))
    if forward:
        return s.one("cudnnSpatialTfGridGeneratorForward", how, s.data(theta), s.data(grid))
    return s.one("cudnnSpatialTfGridGeneratorBackward", how, s.data(grid), s.data(theta))


def _sampler(s: Setting) -> Calls:
    blend, x = (s.number("alpha"), s.number("beta")), s.pairs("x")
    s.packed("grid")
    if s.problem.op.endswith("forward"):
        args = blend[0], *x, s.data("grid"), blend[1], *s.pairs("y")
        return s.one("cudnnSpatialTfSamplerForward", _transformer(s, s.spec("y")), *args)
    s.packed("dgrid")
    grids = s.number("alpha_dgrid"), *s.pairs("dy"), s.data("grid"), s.number("beta_dgrid"), s.data("dgrid")
    args = blend[0], *x, blend[1], *s.pairs("dx"), *grids
    return s.one("cudnnSpatialTfSamplerBackward", _transformer(s, s.spec("dy")), *args)


CALLS: Makers = {
    "batch_normalization_backward": _batch_backward,
    "batch_normalization_forward_inference": _batch_inference,
    "batch_normalization_forward_training": _batch_training,
    "divisive_normalization_backward": _divisive,
    "divisive_normalization_forward": _divisive,
    "lrn_cross_channel_backward": _lrn,
    "lrn_cross_channel_forward": _lrn,
    "spatial_tf_grid_generator_backward": _grid,
    "spatial_tf_grid_generator_forward": _grid,
    "spatial_tf_sampler_backward": _sampler,
    "spatial_tf_sampler_forward": _sampler,
}
