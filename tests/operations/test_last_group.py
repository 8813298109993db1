"""Sums of several work-groups, which the last of them adds up in the same launch, or another launch where none can."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helper import check, open_handle, targets

from portadnn.problem import parse_line
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines import bias_gradient, reduce_tensor
from portadnn_backends.engines.grid import affine as affine_grid
from portadnn_backends.engines.norm import gpu as norm

AFFINE, BIAS, REDUCE, NORM = (module.ENGINES[0] for module in (affine_grid, bias_gradient, reduce_tensor, norm))
SAVED = "saved_mean=f32:700x1x1 saved_inv_variance=f32:700x1x1"
LINES = {  # every one has several slices on a GPU
    "affine": (AFFINE, "spatial_tf_grid_generator_backward dgrid=f32:2x65x66x2"),
    "affine_f64": (AFFINE, "spatial_tf_grid_generator_backward dgrid=f64:1x4x1100x2"),
    "bias": (BIAS, "convolution_backward_bias dy=f32:4x3x191x193 alpha=2.0 beta=-0.5"),
    "bias_nhwc": (BIAS, "convolution_backward_bias dy=f16:3x40x31x33:nhwc alpha=2.0 beta=0.5"),
    "bias_f64": (BIAS, "convolution_backward_bias dy=f64:2000x30x1x1"),
    "bias_long": (BIAS, "convolution_backward_bias dy=f16:7x2x123x129 alpha=2.0 beta=0.5"),  # more than 16 slices
    "bias_posts": (BIAS, "convolution_backward_bias dy=f32:2x40x181x183 alpha=2.0 beta=0.5"),
    "bias_loop": (BIAS, "convolution_backward_bias dy=f64:2x40x181x183"),  # more vectors than registers hold
    "reduce": (REDUCE, "reduce_tensor a=f32:3x2x91x93 c=f32:1x2x1x1 operation=avg alpha=2.0 beta=0.5"),
    "reduce_norm": (REDUCE, "reduce_tensor a=f16:400x6x31x1 c=f16:1x6x31x1 operation=norm2 alpha=2.0"),
    "reduce_max": (REDUCE, "reduce_tensor a=bf16:1500x5x8 c=bf16:1x5x8 operation=max"),
    "norm": (NORM, f"normalization_backward x=f32:700x1x40 mode=layer_norm axis=2 scale=f32:1x1x40 {SAVED}"),
    "norm_rms": (
        NORM,
        "normalization_backward x=f64:600x1x30 mode=rms_norm axis=2 scale=f64:1x1x30 beta_param_diff=2",
    ),
}


@pytest.mark.parametrize("fenced", [True, False], ids=["grid_fence", "plain"])
@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("target", [t for t in targets() if t.schedule != "cpu"], ids=lambda t: t.name)
def test_last_work_group_adds_up(monkeypatch, target, name, fenced):
    """The result is right, and the same twice: the zeros that count the work-groups are left as zeros."""
    engine, line = LINES[name]
    handle = open_handle(target)
    features = handle.info.features - {"grid_fence"} | ({"grid_fence"} if fenced else set())
    monkeypatch.setattr(handle.device, "info", replace(handle.info, features=features, compute_units=132))
    plan = engine.prepare(parse_line(line)[0], handle.device)
    kernels = [launch.kernel.name.rpartition("_")[2] for launch in plan.launches]
    assert ("finish" in kernels) != fenced
    check(handle, line, engine=engine)


H200 = DeviceInfo("cuda", "", "", "gpu", "", "", schedule="gpu", compute_units=132, max_work_group=1024)


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16"])
@pytest.mark.parametrize("dims", [(21, 64, 56, 56), (84, 64, 56, 56), (127, 67, 53, 51), (64, 3, 224, 224)])
def test_bias_gradients_of_long_rows_keep_every_multiprocessor_busy(dims, dtype):
    """The slices are equal, run all at a time, and leave no multiprocessor with much more than its share."""
    problem = parse_line(f"convolution_backward_bias dy={dtype}:{'x'.join(map(str, dims))}")[0]
    tile = bias_gradient._tile(problem, replace(H200, features=frozenset({"grid_fence"})))
    groups = -(-tile.groups * tile.slices // 132)
    assert (tile.slices - 1) * tile.length < tile.reduce_units <= tile.slices * tile.length
    assert 1024 <= groups * tile.block <= 1536
    assert groups * tile.length * 132 < 1.1 * tile.groups * tile.reduce_units


BATCH = "running_mean=f32:1x3x1x1 running_variance=f32:1x3x1x1 saved_mean=f32:1x3x1x1 saved_inv_variance=f32:1x3x1x1"
LONG_ROWS = {  # longer than work-items keep
    "forward": f"batch_normalization_forward_training x=f32:2x3x130x131 {BATCH} alpha=2.0 beta=-0.5",
    "forward_rms": "normalization_forward x=f32:2x3x40001 mode=rms_norm axis=2 scale=f32:1x1x40001",
    "backward": "batch_normalization_backward x=f32:2x3x93x95 alpha_data_diff=2.0 beta_param_diff=-0.5",
    "backward_nhwc": "batch_normalization_backward x=f16:9x8x93x95:nhwc",
}


@pytest.mark.parametrize("fenced", [True, False], ids=["grid_fence", "plain"])
@pytest.mark.parametrize("name", LONG_ROWS)
@pytest.mark.parametrize("target", [t for t in targets() if t.schedule != "cpu"], ids=lambda t: t.name)
def test_work_groups_wait_for_each_other(monkeypatch, target, name, fenced):
    """Statistics and what they are for are one launch, where work-groups can wait for others."""
    line, handle = LONG_ROWS[name], open_handle(target)
    features = handle.info.features - {"grid_fence"} | ({"grid_fence"} if fenced else set())
    monkeypatch.setattr(handle.device, "info", replace(handle.info, features=features))
    plan = NORM.prepare(parse_line(line)[0], handle.device)
    last = plan.launches[-1].kernel.name.rpartition("_")[2]
    assert last == ("joint" if fenced else "apply")
    check(handle, line, engine=NORM)
