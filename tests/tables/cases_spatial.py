"""Cases of the spatial transformer."""

from __future__ import annotations

import itertools

from cases import FLOAT, INPUT_ONLY, LAYOUTS, TYPES, Turns, tensor
from helper import Case

# grid generator: n, h, w

GRIDS = ((2, 5, 8), (1, 1, 1), (3, 1, 7), (2, 6, 1), (0, 3, 3), (2, 0, 3), (1, 3, 16), (2, 67, 66))


def _generators():
    turn = Turns()
    for (n, h, w), direction in itertools.product(GRIDS, ("forward", "backward")):
        dtype, layout, _ = turn(direction)
        theta, grid = tensor(dtype, (n, 2, 3), layout), tensor(dtype, (n, h, w, 2), layout)
        names = ("theta", "grid") if direction == "forward" else ("dtheta", "dgrid")
        yield Case(f"spatial_tf_grid_generator_{direction} {names[0]}={theta} {names[1]}={grid}")
    for dtype in TYPES:
        yield Case(f"spatial_tf_grid_generator_forward theta={dtype_code(dtype)}:2x2x3 dims=2,1,3,8")
        # 2 or 3 pixels sit at whole numbers
        yield Case(f"spatial_tf_grid_generator_forward theta={dtype_code(dtype)}:2x2x3 dims=2,1,3,2", "integer")
        yield Case(f"spatial_tf_grid_generator_backward dgrid={dtype_code(dtype)}:2x2x3x2", "integer")


def dtype_code(dtype):
    return tensor(dtype, (1, 1, 1)).partition(":")[0]


# sampler: x's n, c, h, w, and the grid's h, w

SAMPLES = (
    ((2, 3, 6, 5), (7, 4)),
    ((1, 1, 1, 1), (1, 1)),
    ((1, 2, 1, 5), (3, 3)),
    ((2, 2, 4, 1), (5, 2)),
    ((2, 1, 7, 5), (9, 8)),
    ((2, 17, 4, 4), (5, 6)),
    ((1, 16, 9, 7), (1, 33)),
    ((0, 3, 4, 4), (2, 2)),
    ((2, 0, 4, 4), (3, 3)),
    ((2, 3, 0, 4), (3, 3)),
    ((1, 3, 4, 4), (0, 3)),
    ((1, 2, 3, 2), (23, 31)),  # many points in a cell
    ((1, 9, 18, 19), (9, 10)),
)
MANY = ((2, 5, 6, 7), (4, 9))


def _sampler(direction, dims, places, dtype, layout, numbers, out_layout="nchw", grid_layout="nchw"):
    x, y = tensor(dtype, dims, layout), tensor(dtype, (*dims[:2], *places), out_layout)
    grid = tensor(dtype, (dims[0], *places, 2), grid_layout)
    if direction == "forward":
        return f"spatial_tf_sampler_forward x={x} grid={grid} y={y} {numbers}"
    if layout in INPUT_ONLY:
        dx = tensor(dtype, dims)
    else:
        dx = x
    first, second = numbers.split()
    second_pair = f"alpha_dgrid={second.partition('=')[2]} beta_dgrid={first.partition('=')[2]}"
    return f"spatial_tf_sampler_backward x={x} dy={y} grid={grid} dx={dx} dgrid={grid} {numbers} {second_pair}"


def _samplers():
    turn = Turns()
    for (dims, places), direction in itertools.product(SAMPLES, ("forward", "backward")):
        dtype, layout, numbers = turn(direction)
        yield Case(_sampler(direction, dims, places, dtype, layout, numbers, layout))
    for direction, layout, other in itertools.product(("forward", "backward"), LAYOUTS, ("nchw", "nhwc", "gaps")):
        _, grid_layout, numbers = turn(direction, other)
        yield Case(_sampler(direction, *MANY, FLOAT, layout, numbers, other, grid_layout))
    for direction, layout in itertools.product(("forward", "backward"), INPUT_ONLY):
        line = _sampler(direction, *MANY, FLOAT, layout, "alpha=1 beta=0")
        yield Case(line, everywhere=layout == "overlap")
    for direction, dtype in itertools.product(("forward", "backward"), TYPES):  # vectors of channels
        line = _sampler(direction, (2, 16, 5, 6), (4, 7), dtype, "nhwc", "alpha=1 beta=0.5", "nhwc")
        yield Case(line)
        yield Case(_sampler(direction, (1, 3, 3, 5), (6, 5), dtype, "nchw", "alpha=1 beta=0"), "integer")


GENERATOR_CASES = list(_generators())
SAMPLER_CASES = list(_samplers())
LARGE_CASES = [  # more than a work-group, a strip or a share; images that a CPU does not copy
    Case("spatial_tf_sampler_forward x=f32:1x9x33x65 grid=f32:1x40x50x2"),
    Case("spatial_tf_sampler_backward x=f32:1x9x33x65 grid=f32:1x40x50x2"),
    Case("spatial_tf_sampler_backward x=f32:1x12x33x65:nhwc grid=f32:1x40x50x2"),
    Case("spatial_tf_sampler_backward x=f32:1x2x95x95 grid=f32:1x20x30x2"),  # more cells than local memory has counters
    Case("spatial_tf_sampler_backward x=f32:1x1x2x3 grid=f32:1x150x151x2"),  # and more points than one work-group sorts
    Case("spatial_tf_sampler_backward x=f32:2x2x63x31 grid=f32:2x20x30x2"),  # just as many cells
    Case("spatial_tf_sampler_forward x=f32:1x2x400x400 grid=f32:1x5x7x2", everywhere=False),
    Case("spatial_tf_sampler_backward x=f16:1x3x400x400:nhwc grid=f16:1x5x7x2", everywhere=False),
]
