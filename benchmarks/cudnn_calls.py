"""cuDNN's legacy calls of normalisation, dropout, spatial transformers and reductions, for the peer.

What a backward call reads of a forward pass is made by cuDNN's own forward call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portadnn.enums import DataType
from portadnn.problem import TensorSpec

from .cudnn_library import ints
from .cudnn_setting import Calls, Setting

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
    s.call("cudnnLRNCrossChannelForward", how, mode, s.number(1), *s.pairs("x"), s.number(0), *s.pairs("y"))()
    return s.one("cudnnLRNCrossChannelBackward", how, mode, *s.blended(("y", "dy", "x"), "dx"))


def _divisive(s: Setting) -> Calls:
    how, mode, nbytes = _lrn_descriptor(s), int(s.problem.mode), s.spec("x").span * s.spec("x").dtype.itemsize
    scratch = s.bytes(nbytes), s.bytes(nbytes)
    alpha, beta, x = s.number("alpha"), s.number("beta"), s.pairs("x")
    if s.problem.op.endswith("forward"):
        name = "cudnnDivisiveNormalizationForward"
        return s.one(name, how, mode, alpha, *x, s.data("means"), *scratch, beta, *s.pairs("y"))
    name, given = "cudnnDivisiveNormalizationBackward", (s.data("means"), s.data("dy"))
    return s.one(name, how, mode, alpha, *x, *given, *scratch, beta, *s.pairs("dx"), s.data("dmeans"))


def _modes(mode: int) -> tuple[int, ...]:
    """Return the ways to normalise so: cuDNN has two of the spatial kind, one for values of limited range."""
    return (SPATIAL, SPATIAL_PERSISTENT) if mode == SPATIAL else (mode,)


def _each_mode(s: Setting, call: Callable[[int], tuple[Any, ...]], name: str) -> Calls:
    return {f"{name} {MODES[mode]}": s.call(name, mode, *call(mode)) for mode in _modes(int(s.problem.mode))}


def _training(s: Setting, mode: int, y: str) -> tuple[Any, ...]:
    """Return what the call of forward training takes after the mode."""
    tensors = (*s.pairs("x"), *s.pairs(y), s.tensor("scale"), s.data("scale"))
    saved = s.data("saved_mean"), s.data("saved_inv_variance")
    if y == "dx":  # for the statistics that a backward call reads
        return s.number(1), s.number(0), *tensors, s.data("dbias"), 1.0, None, None, s.value("epsilon"), *saved
    running = s.data("running_mean"), s.data("running_variance")
    factor = s.value("exponential_average_factor")
    blend = s.number("alpha"), s.number("beta")
    return *blend, *tensors, s.data("bias"), factor, *running, s.value("epsilon"), *saved


def _batch_training(s: Setting) -> Calls:
    return _each_mode(s, lambda mode: _training(s, mode, "y"), "cudnnBatchNormalizationForwardTraining")


def _batch_inference(s: Setting) -> Calls:
    tensors = *s.pairs("x"), *s.pairs("y"), s.tensor("scale"), s.data("scale"), s.data("bias")
    statistics = s.data("estimated_mean"), s.data("estimated_variance"), s.value("epsilon")
    blend = s.number("alpha"), s.number("beta")
    return s.one("cudnnBatchNormalizationForwardInference", int(s.problem.mode), *blend, *tensors, *statistics)


def _batch_backward(s: Setting) -> Calls:
    if s.spec("saved_mean") is not None:
        mode = int(s.problem.mode)
        s.call("cudnnBatchNormalizationForwardTraining", mode, *_training(s, mode, "dx"))()
    blend = tuple(map(s.number, ("alpha_data_diff", "beta_data_diff", "alpha_param_diff", "beta_param_diff")))
    tensors = (*s.pairs("x", "dy", "dx"), s.tensor("scale"), *map(s.data, ("scale", "dscale", "dbias")))
    saved = s.data("saved_mean"), s.data("saved_inv_variance")
    args = *blend, *tensors, s.value("epsilon"), *saved
    return _each_mode(s, lambda mode: args, "cudnnBatchNormalizationBackward")


def _dropout(s: Setting) -> Calls:
    p, library = s.problem, s.library
    size = library.size("cudnnDropoutGetStatesSize", s.handle)
    how = s.descriptor("Dropout", "", s.handle, p.dropout, s.bytes(size), size, 1)
    forward = p.op == "dropout_forward"
    source, target = ("x", "y") if forward else ("dy", "dx")
    reserved = library.size("cudnnDropoutGetReserveSpaceSize", s.tensor(source))
    args = how, *s.pairs(source, target), s.bytes(reserved), reserved
    if forward:
        return s.one("cudnnDropoutForward", *args)
    s.call("cudnnDropoutForward", *args)()
    return s.one("cudnnDropoutBackward", *args)


def _transformer(s: Setting, image: TensorSpec) -> Any:
    return s.descriptor("SpatialTransformer", "Nd", BILINEAR, int(image.dtype), len(image.dims), ints(image.dims))


def _grid(s: Setting) -> Calls:
    forward = s.problem.op.endswith("forward")
    theta, grid = ("theta", "grid") if forward else ("dtheta", "dgrid")
    n, h, w, _ = s.spec(grid).dims
    how = _transformer(s, TensorSpec.packed(s.spec(grid).dtype, (n, 1, h, w)))
    if forward:
        return s.one("cudnnSpatialTfGridGeneratorForward", how, s.data(theta), s.data(grid))
    return s.one("cudnnSpatialTfGridGeneratorBackward", how, s.data(grid), s.data(theta))


def _sampler(s: Setting) -> Calls:
    blend, x = (s.number("alpha"), s.number("beta")), s.pairs("x")
    if s.problem.op.endswith("forward"):
        args = blend[0], *x, s.data("grid"), blend[1], *s.pairs("y")
        return s.one("cudnnSpatialTfSamplerForward", _transformer(s, s.spec("y")), *args)
    grids = s.number("alpha_dgrid"), *s.pairs("dy"), s.data("grid"), s.number("beta_dgrid"), s.data("dgrid")
    args = blend[0], *x, blend[1], *s.pairs("dx"), *grids
    return s.one("cudnnSpatialTfSamplerBackward", _transformer(s, s.spec("dy")), *args)


def _reduce(s: Setting) -> Calls:
    p, library = s.problem, s.library
    real = DataType.DOUBLE if p.dtype is DataType.DOUBLE else DataType.FLOAT
    flattened = int(getattr(p, "indices", None) is not None)
    how = s.descriptor("ReduceTensor", "", int(p.operation), int(real), int(p.nan_propagation), flattened, 0)
    shapes = s.tensor("a"), s.tensor("c")
    sizes = (library.size(f"cudnnGetReduction{what}Size", s.handle, how, *shapes) for what in ("Indices", "Workspace"))
    scratch = tuple(word for size in sizes for word in (s.bytes(size), size))
    return s.one("cudnnReduceTensor", how, *scratch, *s.blended(("a",), "c"))


CALLS: dict[str, Callable[[Setting], Calls]] = {
    "batch_normalization_backward": _batch_backward,
    "batch_normalization_forward_inference": _batch_inference,
    "batch_normalization_forward_training": _batch_training,
    "divisive_normalization_backward": _divisive,
    "divisive_normalization_forward": _divisive,
    "dropout_backward": _dropout,
    "dropout_forward": _dropout,
    "lrn_cross_channel_backward": _lrn,
    "lrn_cross_channel_forward": _lrn,
    "reduce_tensor": _reduce,
    "spatial_tf_grid_generator_backward": _grid,
    "spatial_tf_grid_generator_forward": _grid,
    "spatial_tf_sampler_backward": _sampler,
    "spatial_tf_sampler_forward": _sampler,
}
