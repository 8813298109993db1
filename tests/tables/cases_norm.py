"""Tables of normalisation cases; see cases.py."""

from __future__ import annotations

from cases import FLOAT, INPUT_ONLY, LAYOUTS, TYPES, Turns, blend, tensor
from helper import Case

BATCH = (
    "batch_normalization_forward_training",
    "batch_normalization_forward_inference",
    "batch_normalization_backward",
)
SAMPLE = ("normalization_forward", "normalization_backward")


# dims and mode; the last ones are sliced on GPUs, on CPUs, and across
_SHAPES = [
    ((2, 3, 5, 7), "spatial"),
    ((5, 8, 4, 4), "spatial"),
    ((3, 5, 1, 1), "spatial"),
    ((1, 1, 9, 9), "spatial"),
    ((2, 3, 2, 3, 4), "spatial"),
    ((6, 37, 3, 3), "spatial"),
    ((7, 3, 4, 5), "per_activation"),
    ((2, 4, 2, 3, 4), "per_activation"),
    ((9, 40, 1, 1), "per_activation"),
    ((3, 16, 7, 7), "spatial"),
    ((2, 5, 6, 16), "spatial"),
    ((4, 2, 8, 8), "per_activation"),
]
_LONG = [
    ("f32:1x2x182x184", "spatial"),
    ("f32:3x8x10x11:nhwc", "spatial"),
    ("f64:1x2x131x129", "spatial"),
    ("bf16:2x20x13x15:nhwc", "spatial"),
    ("f16:301x1x2x4", "per_activation"),
]
_LONG_ON_CPUS = ("f32:3x5x90x91:nhwc", "f32:1x1x181x187", "f64:2x19x80x61:nhwc", "f32:1x300x11x4:nhwc")


def _parameter(dims, mode, dtype, turn):
    """Return the text form of scale, bias and the like, every third one with gaps."""
    sizes = (1, *dims[1:]) if mode == "per_activation" else (1, dims[1], *(1,) * (len(dims) - 2))
    return tensor(dtype.accumulator, sizes, ("nchw", "nchw", "spread")[turn % 3])


def _batch_cases():
    turns, inputs = Turns(), Turns((*LAYOUTS, *INPUT_ONLY))
    for i, (dims, mode) in enumerate(_SHAPES):
        dtype, layout, numbers = turns("forward")
        x = tensor(dtype, dims, inputs("x")[1])
        p = _parameter(dims, mode, dtype, i)
        running = f" running_mean={p} running_variance={p} exponential_average_factor={(0.25, 1)[i % 2]}"
        saved = f" saved_mean={p} saved_inv_variance={p}"
        extra = (running + saved, "", saved, running)[i % 4]
        y = tensor(dtype, dims, layout)
        line = f"{BATCH[0]} x={x} y={y} scale={p} bias={p} mode={mode}{extra} {numbers} epsilon=0.001"
        yield Case(line, everywhere=i % 2 == 0)
        if i % 2:
            yield Case(f"{BATCH[1]} x={x} y={y} scale={p} bias={p} mode={mode} {numbers}", everywhere=i % 4 == 1)
        dtype, layout, numbers = turns("backward")
        x, dy, p = tensor(dtype, dims, inputs("x")[1]), tensor(dtype, dims, layout), _parameter(dims, mode, dtype, i)
        dx = tensor(dtype, dims, turns("dx")[1])
        saved = f" saved_mean={p} saved_inv_variance={p}" if i % 2 else ""
        alpha, beta = (word.partition("=")[2] for word in numbers.split())
        numbers = f"alpha_data_diff={alpha} beta_data_diff={beta} alpha_param_diff={beta} beta_param_diff={alpha}"
        line = f"{BATCH[2]} x={x} dy={dy} dx={dx} scale={p} dscale={p} dbias={p} mode={mode}{saved} {numbers}"
        yield Case(line, everywhere=i % 2 == 1)
    for i, (x, mode) in enumerate(_LONG):
        if i % 2 == 0:
            yield Case(f"{BATCH[0]} x={x} mode={mode}")
        if i != 2:
            yield Case(f"{BATCH[2]} x={x} mode={mode} beta_param_diff=0.5", everywhere=i < 3)
    yield Case(f"{BATCH[1]} x={_LONG[0][0]}")
    for i, x in enumerate(_LONG_ON_CPUS):
        p = f"{'f64' if '64:' in x else 'f32'}:1x{x.split('x')[1]}x1x1"
        saved = f" saved_mean={p} saved_inv_variance={p}"
        running = f" running_mean={p} running_variance={p} exponential_average_factor=0.5"
        if i < 2:
            yield Case(f"{BATCH[0]} x={x}{saved}{running} beta={i % 2}", everywhere=False)
            yield Case(f"{BATCH[1]} x={x}", everywhere=False)
        yield Case(f"{BATCH[2]} x={x}{saved if i in (1, 2) else ''} beta_data_diff={i % 2}", everywhere=False)
    dims, p = (1, 2, 182, 93), "f32:1x2x1x1"
    saved = f"saved_mean={p} saved_inv_variance={p}"
    x = tensor(FLOAT, dims)
    yield Case(f"{BATCH[2]} x={x} {saved}")
    yield Case(f"{BATCH[0]} x=f32:2x3x5x8 {blend(2, 0)}", alias=("y", "x"))
    yield Case(f"{BATCH[0]} x=f32:1x2x182x184 {blend(2, 0.5)}", alias=("y", "x"))
    yield Case(f"{BATCH[0]} x=f32:3x5x90x91:nhwc {blend(2, 0.5)}", alias=("y", "x"), everywhere=False)
    yield Case(f"{BATCH[1]} x=f32:2x3x5x8", alias=("y", "x"))
    for i, dtype in enumerate(
        TYPES
    ):  # planes that are no multiple of a vector, a last vector in part, several work-groups
        for dims in ((3, 5, 3, 7), (2, 3, 3, 3, 5), (2, 7, 61, 53)):
            p = tensor(dtype.accumulator, (1, dims[1], *(1,) * (len(dims) - 2)), ("nchw", "spread")[i % 2])
            x, numbers = tensor(dtype, dims), blend(2, i % 2)
            yield Case(f"{BATCH[1]} x={x} scale={p} bias={p} {numbers}", everywhere=dims == (3, 5, 3, 7))
    yield Case(f"{BATCH[1]} x=f32:3x5x3x7 {blend(2, 0.5)}", alias=("y", "x"))
    yield Case(f"{BATCH[2]} x=f32:2x3x5x8 beta_data_diff=1", alias=("dx", "dy"))
    yield Case(f"{BATCH[2]} x=f32:3x8x10x11:nhwc", alias=("dx", "dy"))
    for empty in ("0x3x4x5", "2x0x4x5", "2x3x0x5"):
        if empty != "2x0x4x5":
            yield Case(f"{BATCH[0]} x=f32:{empty} saved_mean={_empty(empty)} saved_inv_variance={_empty(empty)}")
        yield Case(f"{BATCH[1]} x=f32:{empty}", everywhere=False)
        yield Case(f"{BATCH[2]} x=f32:{empty} beta_param_diff=2", everywhere=empty == "0x3x4x5")


def _empty(dims):
    return f"f32:1x{dims.split('x')[1]}x1x1"


BATCH_CASES = list(_batch_cases())

# dims, and what is normalised; the layouts, types and factors take turns
_SAMPLE_SHAPES = [
    ((3, 4, 5, 6), "layer_norm", {}),
    ((5, 7, 24), "layer_norm", {"axis": 2}),
    ((5, 7, 24), "rms_norm", {"axis": -1}),
    ((2, 6, 5, 3), "instance_norm", {}),
    ((2, 6, 4, 4), "group_norm", {"groups": 3}),
    ((2, 3, 2, 5, 3), "rms_norm", {}),
    ((3, 5, 7), "layer_norm", {"axis": 1}),
    ((2, 6, 3, 2, 2), "group_norm", {"groups": 6}),
    ((1, 5, 2, 3, 4), "instance_norm", {}),
    ((6, 32, 1, 1), "layer_norm", {}),
    ((2, 8, 3, 3), "group_norm", {"groups": 1}),
    ((2, 3, 2, 1, 2, 5), "layer_norm", {"axis": -2}),
    ((4, 1, 1), "layer_norm", {}),
]
_SAMPLE_LONG = [  # forward and backward; rows in slices, groups cut by images and layouts
    ("f32:2x2x132x130", "layer_norm", ""),
    ("f32:1x2x130x129", "instance_norm", ""),
    ("f16:1x3x20x20:nhwc", "instance_norm", ""),
    ("f32:1x6x80x71", "group_norm", " groups=2"),
    ("f32:2x24x9x8:nhwc", "group_norm", " groups=3"),
    ("bf16:2x6x9x8:nhwc", "group_norm", " groups=3"),
    ("f32:70x3x40", "layer_norm", " axis=2"),
    ("f64:30x3x40", "rms_norm", " axis=2"),
]


def _sizes(dims, mode, axis=1, groups=1):
    """Return the dims of parameters and of statistics."""
    rank = len(dims)
    if mode in ("layer_norm", "rms_norm"):
        first = axis % rank
        return (*(1,) * first, *dims[first:]), (*dims[:first], *(1,) * (rank - first))
    channels = dims[1] if mode == "instance_norm" else groups
    return (1, dims[1], *(1,) * (rank - 2)), (dims[0], channels, *(1,) * (rank - 2))


def _saved(mode, text):
    return f" saved_inv_variance={text}" if mode == "rms_norm" else f" saved_mean={text} saved_inv_variance={text}"


def _sample_cases():
    turns, inputs = Turns(), Turns((*LAYOUTS, *INPUT_ONLY))
    for i, (dims, mode, options) in enumerate(_SAMPLE_SHAPES):
        rest = f"mode={mode}" + "".join(f" {k}={v}" for k, v in options.items())
        parameters, statistics = _sizes(dims, mode, **options)
        for direction in SAMPLE:
            dtype, layout, numbers = turns(direction)
            p = tensor(dtype.accumulator, parameters, ("nchw", "nchw", "spread")[i % 3])
            saved = _saved(mode, tensor(dtype.accumulator, statistics, ("nchw", "gaps")[i % 2])) if i % 3 else ""
            x = tensor(dtype, dims, inputs(direction)[1])
            scale = f" scale={p}" if i % 4 else ""
            if direction == SAMPLE[0]:
                bias = f" bias={p}" if scale and i % 5 else ""
                y = tensor(dtype, dims, layout)
                line = f"{direction} x={x} y={y}{scale}{bias}{saved} {rest} {numbers} epsilon=0.01"
                yield Case(line, everywhere=i % 2 == 0)
                continue
            alpha, beta = (word.partition("=")[2] for word in numbers.split())
            numbers = f"alpha_data_diff={alpha} beta_data_diff={beta} alpha_param_diff={beta} beta_param_diff={alpha}"
            dy, dx = (tensor(dtype, dims, turns(name)[1]) for name in ("dy", "dx"))
            yield Case(f"{direction} x={x} dy={dy} dx={dx}{scale}{saved} {rest} {numbers}", everywhere=i % 2 == 1)
    for i, (x, mode, options) in enumerate(_SAMPLE_LONG):
        dims = tuple(map(int, x.split(":")[1].split("x")))
        parameters, statistics = _sizes(
            dims, mode, **{k: int(v) for k, _, v in (w.partition("=") for w in options.split())}
        )
        code = "f64" if "f64" in x else "f32"
        p, s = (f"{code}:{'x'.join(map(str, sizes))}" for sizes in (parameters, statistics))
        bias = "" if mode == "rms_norm" else f" bias={p}"
        if i < 4:
            yield Case(f"{SAMPLE[0]} x={x} scale={p}{bias}{_saved(mode, s)} mode={mode}{options}", everywhere=i < 2)
        saved = _saved(mode, s) if i in (0, 3, 5, 6) else ""
        yield Case(f"{SAMPLE[1]} x={x} scale={p}{saved} mode={mode}{options} beta_param_diff=0.5")
    for saved in ("", _saved("instance_norm", "f32:3x4x1x1")):  # images of one pixel: nothing changes within them
        yield Case(f"{SAMPLE[1]} x=f32:3x4x1x1 scale=f32:1x4x1x1{saved} mode=instance_norm", everywhere=True)
    p, s = "f32:1x24x1x1/48,2,1,1", "f32:2x6x1x1/13,2,1,1"  # narrow groups of neighbouring channels
    group = f"scale={p} bias={p}{_saved('group_norm', s)} mode=group_norm groups=6 {blend(1.5, 0.5)}"
    yield Case(f"{SAMPLE[0]} x=f32:2x24x50x40:nhwc {group}", everywhere=False)
    yield Case(f"{SAMPLE[0]} x=bf16:2x21x3x5:nhwc mode=group_norm groups=7", everywhere=False)
    p, x = "f32:1x3x1x1", "f32:2x3x5x8"
    for mode in ("instance_norm", "group_norm", "layer_norm"):
        p = "f32:1x3x5x8" if mode == "layer_norm" else p
        if mode == "group_norm":
            yield Case(f"{SAMPLE[0]} x={x} scale={p} bias={p} mode={mode} {blend(2, 0.5)}", alias=("y", "x"))
        yield Case(f"{SAMPLE[1]} x={x} scale={p} mode={mode}", alias=("dx", "dy"))
    for empty in ("0x3x4x5", "2x3x0x5"):
        e = f"1x{empty.partition('x')[2]}"
        saved = f" saved_mean=f32:{empty[0]}x1x1x1 saved_inv_variance=f32:{empty[0]}x1x1x1"
        yield Case(f"{SAMPLE[0]} x=f32:{empty} scale=f32:{e} bias=f32:{e}{saved}", everywhere=False)
        yield Case(f"{SAMPLE[1]} x=f32:{empty} scale=f32:{e} beta_param_diff=2")
        yield Case(f"{SAMPLE[1]} x=f32:{empty} scale=f32:1x3x1x1 mode=instance_norm beta_param_diff=2")


SAMPLE_CASES = list(_sample_cases())
