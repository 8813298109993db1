"""What the kernels of convolutions on tensor cores (conv/mma*.cu) are compiled with."""

from __future__ import annotations

import math

from portadnn.enums import ConvolutionMode, DataType
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem, TensorSpec

from ..layouts import strides
from ..pieces import PIECE_COUNTERS
from .epilogue import ForwardOfBytes, epilogue_defines
from .geometry import axes, checks, z_defines, z_like_y
from .matrix_units import MMA
from .prologue import computed, prologue_defines
from .tensor_core_choice import CHUNK, Image, Setup, pixel_lanes, pixel_pitch

Defines = dict[str, int | float | str]


def reuses(setup: Setup) -> bool:
    """Tell whether neighbouring pixels share so many bytes that copies pass by the first-level cache."""
    return setup.images[0].padded * setup.problem.dtype.itemsize < 64


def common(setup: Setup) -> Defines:
    """Return what most kernels have to know of the problem."""
    problem, geometry, choice = setup.problem, setup.geometry, setup.choice
    defines: Defines = {
        f"DTYPE_{problem.dtype.name}": 1,
        **geometry.places,
        "GROUPS": geometry.groups,
        "PHASES": geometry.phases,
        "GEMM_N": geometry.n,
        "SPLITS": choice.splits,
        "CPAD": setup.images[0].padded,
    }
    if problem.mode is ConvolutionMode.CONVOLUTION:
        defines["FLIP"] = 1
    defines |= epilogue_defines(problem) | prologue_defines(problem)
    if isinstance(problem, ForwardOfBytes):
        defines |= problem.defines
    if isinstance(problem, ConvolutionBiasActivationForward):
        defines |= z_defines(problem)
    return defines


def _tile_defines(setup: Setup) -> Defines:
    tile = setup.choice.tile
    defines: Defines = {"BM": tile.bm, "BN": tile.bn, "WM": tile.wm, "WN": tile.wn, "STAGES": tile.stages}
    return defines | ({"WARPGROUPS": 1, "RESIDENT": tile.side_by_side} if tile.warpgroups else {})


def _rounds(image: Image) -> bool:
    return image.native and image.source.dtype is DataType.FLOAT


def _vector(spec: TensorSpec, lanes: int) -> bool:
    return all(s % lanes == 0 for s in strides(spec) if s != 1) and spec.alignment >= min(
        CHUNK, lanes * spec.dtype.itemsize
    )


def _store_defines(setup: Setup) -> Defines:
    """Say how conv/mma.cu stores results: in vectors along channels, along pixels, or one by one."""
    spec, geometry, tile = setup.problem.tensors[-1], setup.geometry, setup.choice.tile
    channel_step = strides(spec)[1]
    if setup.choice.has_parts:
        return {"PARTS_BY_ROWS": 1} if channel_step != 1 else {}
    if isinstance(setup.problem, ConvolutionBiasActivationForward) and not z_like_y(setup.problem):
        return {}
    if channel_step == 1:
        for lanes in (8, 4) if spec.dtype.itemsize == 2 else (4,):
            if lanes <= tile.wn // 4 and geometry.m % lanes == 0 and _vector(spec, lanes):
                return {"STORE_COLUMNS": 1, "RUN": lanes // 2, "VW": lanes, "VECTOR_ALIGNED": 1}
    lanes = min(pixel_lanes(spec), tile.wm // 8, CHUNK // spec.dtype.itemsize)
    if geometry.phases == 1 and lanes >= 4:
        return {"STORE_ROWS": 1, "ROW_RUN": lanes, "VW": lanes, "VECTOR_ALIGNED": 1}
    return {}


def product_defines(setup: Setup, packs: bool) -> Defines:
    """Return the defines of conv_mma; `packs`: its work-groups pack the filter."""
    geometry, tile = setup.geometry, setup.choice.tile
    tail = geometry.n % tile.bm > 0
    strided = "DATA_GRADIENT" in geometry.defines
    defines = {
        **common(setup),
        **_tile_defines(setup),
        **(axes("CHECK", (1, 1, 1)) if strided else checks(setup.problem, tail)),
        "RUN": 2,
        "ROW_RUN": 4 if setup.images[0].planes and setup.problem.dtype is DataType.FLOAT else 2,
        **_store_defines(setup),
        "SLICE": tile.slice,
        "ROWS": f"{geometry.n}u",
        "COLS": geometry.m,
        "FILTER_PITCH": setup.filter_pitch,
        "FILTER_TAP": setup.filter_tap,
        **({"FUSED_PACK": 1, "PIECE_COUNTERS": PIECE_COUNTERS, **filter_tile(setup)[0]} if packs else {}),
    }
    image = setup.images[0]
    if not setup.packs_filter and setup.problem.dtype is DataType.FLOAT:
        defines["ROUND_FILTER"] = 1
    if setup.choice.taps_inner:
        defines["TAPS_INNER"] = 1
    if setup.across:
        defines["FILTER_ACROSS"] = 1
    if image.planes:
        defines["PLANES"] = 1
        defines["PLANE_RUN"] = min(pixel_lanes(image.spec), CHUNK // image.spec.dtype.itemsize)
    elif _rounds(image):
        defines["ROUND_IMAGE"] = 1
    if not image.native:
        defines.pop("PROLOGUE_IMAGE", None)  # packing has computed it
    if reuses(setup):
        defines["COPY_CACHED"] = 1
    return defines


def matrix_defines(setup: Setup, adds: bool) -> Defines:
    """Return the defines of conv_matrix; `adds`: to the parts of earlier images."""
    geometry, choice, unit = setup.geometry, setup.choice, setup.unit
    tile, gradient = choice.tile, choice.product.across
    tail = (geometry.k % tile.depth(setup.problem.dtype.itemsize) if gradient else geometry.n % tile.bn) > 0
    strided = "DATA_GRADIENT" in geometry.defines
    defines = {
        **common(setup),
        **(axes("CHECK", (1, 1, 1)) if strided else checks(setup.problem, tail)),
        **{"BM": tile.bm, "BN": tile.bn, "WM": tile.wm, "WN": tile.wn, **unit.defines()},
        **({"ASYNC": 1, "STAGES": tile.stages, "PENDING": tile.stages - 2} if choice.product.copies else {}),
        "ROWS": geometry.m,
        "COLS": f"{choice.product.columns}u",
        "HAS_PARTS": int(choice.has_parts),
        "ADD_PARTS": int(adds),
    }
    if setup.uses_xf32:
        defines["XF32"] = 1
    if gradient:
        return {**defines, "COUNT": f"{geometry.k}u", "KPAD": setup.images[1].padded}
    return {**defines, "FILTER_PITCH": setup.filter_pitch, **({} if choice.has_parts else _row_vectors(setup))}


def _row_vectors(setup: Setup) -> Defines:
    """Say whether conv/matrix.cl stores results in vectors along channels; else it does one by one."""
    spec = setup.problem.tensors[-1]
    if isinstance(setup.problem, ConvolutionBiasActivationForward) and not z_like_y(setup.problem):
        return {}
    for lanes in (8, 4) if spec.dtype.itemsize == 2 else (4,):
        fits = lanes <= setup.unit.rows and setup.geometry.m % lanes == 0
        if strides(spec)[1] == 1 and fits and _vector(spec, lanes):
            return {"STORE_ROWS": 1, "VW": lanes, "VECTOR_ALIGNED": 1}
    return {}


def gradient_defines(setup: Setup) -> Defines:
    """Return the defines of conv_mma_filter."""
    geometry, choice = setup.geometry, setup.choice
    x, dy = setup.images
    defines = {
        **common(setup),
        **_tile_defines(setup),
        **checks(setup.problem, False),
        "BK": choice.tile.depth(setup.problem.dtype.itemsize),
        "ROWS": geometry.m,
        "COLS": choice.product.columns,
        "COUNT": f"{geometry.k}u",
        "KPAD": dy.padded,
        "DY_PITCH": pixel_pitch(dy.spec) or dy.padded,
    }
    return {
        **defines,
        **({"ROUND_IMAGE": 1} if _rounds(x) else {}),
        **({"ROUND_DY": 1} if _rounds(dy) else {}),
        **({"COPY_CACHED": 1} if reuses(setup) else {}),
        **({} if choice.has_parts else {"STORE_FILTER": 1, **_channel_vectors(setup)}),
    }


def _channel_vectors(setup: Setup) -> Defines:
    """Say how many channels conv/mma_filter_store.h stores at once: neighbours, at aligned places."""
    spec = setup.problem.filter
    for lanes in (8, 4, 2) if spec.dtype.itemsize == 2 else (4, 2):
        if strides(spec)[1] == 1 and spec.dims[1] % lanes == 0 and _vector(spec, lanes):
            return {"VW": lanes, "VECTOR_ALIGNED": 1}
    return {}


def reduce_defines(setup: Setup) -> Defines:
    """Return the defines of conv_mma_reduce."""
    geometry, choice = setup.geometry, setup.choice
    gradient = choice.product.across
    rows, columns = choice.padded
    turned = not gradient and setup.unit is not MMA  # rows of the product are channels
    by_rows = not gradient and (turned or "PARTS_BY_ROWS" in _store_defines(setup))
    defines = {
        **common(setup),
        **axes("CHECK", (0, 0, 0)),
        "ROWS": f"{geometry.m if gradient else geometry.n}u",
        "COLS": f"{geometry.n if gradient else geometry.m}u",
        "PART_SIZE": f"(i64){rows * columns}",
        "PART_PITCH": rows if by_rows and not turned else columns,
    }
    if by_rows:
        defines["PARTS_BY_ROWS"] = 1
    return defines


def image_defines(image: Image, problem: Problem) -> Defines:
    """Return the defines of pack_image."""
    spec = image.source
    sizes = (*(1,) * (5 - len(spec.dims)), *spec.dims[2:])
    steps = (*(0,) * (5 - len(spec.dims)), *strides(spec)[2:])
    run, neighbours = 1, True
    for size, step in zip(reversed(sizes), reversed(steps), strict=True):
        neighbours = neighbours and (size == 1 or step == run)
        run *= size
    defines: Defines = {
        f"DTYPE_{spec.dtype.name}": 1,
        **axes("PLANE", sizes),
        **axes("FROM", steps),
        "FROM_N": strides(spec)[0],
        "FROM_C": strides(spec)[1],
        "IMAGES": spec.dims[0],
        "GROUPS": image.groups,
        "CHANNELS": image.channels,
        "CPAD": image.padded,
        "VP": 1,
    }
    if neighbours and run > 1 and image.groups * image.padded >= 16:
        defines["TILED"] = 1
        defines["VP"] = min(pixel_lanes(spec), 4)
    if computed(problem, image.operand):
        defines |= {**epilogue_defines(problem), f"PROLOGUE_{image.operand.upper()}": 1}
    return defines


def filter_tile(setup: Setup) -> tuple[Defines, int, int]:
    """Return the defines of a tile of the filter to be packed, the number of tiles, and a tile's local memory."""
    geometry, padded = setup.geometry, setup.images[0].padded
    w = setup.problem.filter
    taps = math.prod(w.dims[2:])
    tap = min(taps, 128)
    ch = min(32, padded)
    col = 1
    while col < min(32, geometry.m) and 2 * col * ch * tap <= 4096:
        col *= 2
    steps = {"COL": geometry.defines["FILTER_M"], "CH": geometry.defines["FILTER_C"]}
    steps = {name: step if step else 1 << 40 for name, step in steps.items()}
    innermost = min(s if d > 1 else 1 << 39 for d, s in zip(w.dims[2:], w.strides[2:], strict=True))
    order = sorted([("COL", steps["COL"]), ("CH", steps["CH"]), ("TAP", innermost)], key=lambda pair: pair[1])
    sizes = {"COL": col, "CH": ch, "TAP": tap}
    defines: Defines = {f"TILE_{name}": size for name, size in sizes.items()}
    below = 1
    for name, _ in order:
        defines[f"READ_{name}(e)"] = f"((e) / {below} % {sizes[name]})"
        below *= sizes[name]
    tiles = -(-geometry.m // col) * -(-padded // ch) * -(-taps // tap) * geometry.groups
    return defines, tiles, col * tap * (ch + 1) * setup.problem.dtype.itemsize
