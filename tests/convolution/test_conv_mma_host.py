"""Products on tensor cores from planes of pixels, on the host: the kernel's text with PTX's definitions.

Which lane has what is checked without a GPU.
"""

from __future__ import annotations

import numpy as np
import pytest
from helper import Case, compare, diff_case, make_buffers
from host_cuda_device import COMPILER, HostCuda

from portadnn.bfloat16 import as_float64
from portadnn.diff.compare import bounds
from portadnn_backends.engines.conv import tensor_core as conv_tensor_core
from portadnn_backends.engines.conv import tensor_core_choice as conv_tensor_core_choice
from portadnn_backends.engines.conv.tensor_core_tiles import IMAGE_TILES, Choice
from portadnn_backends.reference.outcomes import outcomes

FORWARD, DATA = conv_tensor_core.ENGINES[:2]
FUSED = "convolution_bias_activation_forward"
BLEND = "alpha=2.0 beta=-1.0"
CASES = {  # engine, line, tile, splits, what the kernel has to be
    "half": (FORWARD, "x=f16:2x37x4x12 w=f16:50x37x1x1", (64, 64, 64), 1, "STORE_ROWS"),
    "bfloat16": (FORWARD, f"x=bf16:1x72x5x24 w=bf16:40x72x1x1 {BLEND}", (128, 128, 64), 1, "STORE_ROWS"),
    "slices of 128 bytes": (FORWARD, f"x=f16:1x67x2x36 w=f16:70x67x1x1 {BLEND}", (64, 128, 128), 1, "STORE_ROWS"),
    "rows of 256": (FORWARD, "x=f16:3x40x8x13 w=f16:66x40x1x1", (256, 64, 64), 1, "STORE_ROWS"),
    "channels in a row": (
        FORWARD,
        "x=f16:2x24x4x6 w=f16:40x24x1x1 y=f16:2x40x4x6:nhwc",
        (128, 64, 64),
        1,
        "STORE_COLUMNS",
    ),
    "one by one": (FORWARD, "x=f16:2x9x4x6 w=f16:5x9x1x1 y=f16:2x5x4x6/123,24,6,1@2", (128, 32, 64), 1, "GROUPS"),
    "runs of four": (FORWARD, f"x=f16:3x44x7x4 w=f16:40x44x1x1 {BLEND}", (128, 128, 64), 1, "STORE_ROWS"),
    "runs of four, rows of 256": (FORWARD, "x=bf16:2x34x14x14 w=bf16:66x34x1x1", (256, 64, 64), 1, "STORE_ROWS"),
    "stores of four": (
        FORWARD,
        "x=f16:2x9x4x6 w=f16:5x9x1x1 y=f16:2x5x4x6/124,24,6,1@8",
        (128, 64, 64),
        1,
        "STORE_ROWS",
    ),
    "parts of rows": (FORWARD, f"x=f16:1x600x2x20 w=f16:9x600x1x1 {BLEND}", (64, 64, 64), 3, "PARTS_BY_ROWS"),
    "parts": (FORWARD, "x=f16:1x600x2x20 w=f16:9x600x1x1 y=f16:1x9x2x20:nhwc", (64, 64, 128), 2, "SPLITS"),
    "groups": (FORWARD, f"x=f16:1x30x2x20 w=f16:21x10x1x1 groups=3 {BLEND}", (64, 64, 128), 1, "STORE_ROWS"),
    "a data gradient": (DATA, "dx=bf16:2x24x4x10 w=bf16:35x24x1x1 dy=bf16:2x35x4x10", (64, 64, 64), 1, "STORE_ROWS"),
    "an epilogue": (FORWARD, "x=f16:2x16x8x8 w=f16:24x16x1x1 activation=relu alpha2=1", (128, 64, 128), 1, "EPILOGUE"),
}


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize("name", CASES)
def test_planes(name, monkeypatch, tmp_path):
    engine, rest, (bm, bn, slice), splits, wanted = CASES[name]
    op = "convolution_backward_data" if engine is DATA else FUSED if "activation" in rest else "convolution_forward"
    case = Case(f"{op} {rest} padding=0,0", "integer")
    problem, numbers = diff_case(case).problem, diff_case(case).numbers
    (tile,) = (tile for tile in IMAGE_TILES if (tile.bm, tile.bn, tile.slice) == (bm, bn, slice))
    monkeypatch.setattr(
        conv_tensor_core_choice, "best_choice", lambda product, info, whole=False: Choice(product, tile, splits)
    )
    plan = engine.prepare(problem, HostCuda(tmp_path))
    product = next(launch.kernel.source for launch in plan.launches if launch.kernel.name == "conv_mma")
    assert "#define PLANES 1" in product
    assert f"#define {wanted} " in product
    assert "pack_image" not in [launch.kernel.name for launch in plan.launches]
    buffers = make_buffers(case)
    arrays = [buffers[one].array for one in problem.names]
    want = outcomes(problem, [array.copy() for array in arrays], tuple(numbers.values()))
    plan.run(arrays, list(numbers.values()), np.full(plan.workspace_size, 0xA5, np.uint8))
    for out, due in want.items():
        due, bound, _ = bounds(problem, out, due, None, factor=1.0, product=0.0)
        compare(as_float64(arrays[problem.index(out)]), due, bound, name)
