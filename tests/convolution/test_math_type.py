"""Math modes: names, text form, and what they permit."""

from __future__ import annotations

import numpy as np
import pytest

import portadnn as dnn
from portadnn.enums import MathType
from portadnn.tolerance import tolerance

LINE = "convolution_forward x={t}:1x64x4x4 w={t}:8x64x1x1 {rest}"


def test_names_of_cudnn_and_aliases():
    assert [m.c_name for m in MathType] == [
        "CUDNN_DEFAULT_MATH",
        "CUDNN_TENSOR_OP_MATH",
        "CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION",
        "CUDNN_FMA_MATH",
    ]
    for member in MathType:
        for name in (
            member.name,
            member.name.lower(),
            member.c_name,
            member.c_name.removeprefix("CUDNN_"),
            int(member),
        ):
            assert MathType.parse(name) is member
    assert MathType.parse("fp32") is MathType.DEFAULT
    assert MathType.parse("tf32") is MathType.TENSOR_OP_ALLOW_CONVERSION
    for wrong in ("MATH", "CUDNN", "", 4):
        with pytest.raises(dnn.BadParam, match="MathType"):
            MathType.parse(wrong)


def test_text_form_changes_only_for_other_modes():
    plain = dnn.parse(LINE.format(t="f32", rest=""))
    assert "math" not in str(plain) and plain.math is MathType.DEFAULT
    tf32 = dnn.parse(LINE.format(t="f32", rest="math=tf32"))
    assert tf32 != plain and dnn.parse(str(tf32)) == tf32


@pytest.mark.parametrize("math", MathType)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
def test_only_permitted_rounding_widens_the_tolerance(dtype, math):
    exact = dnn.parse(LINE.format(t=dtype, rest=""))
    problem = dnn.parse(LINE.format(t=dtype, rest=f"math={math.name}"))
    want, terms = np.zeros(1), np.ones(1)
    wider = (tolerance(problem, want, terms) > tolerance(exact, want, terms))[0]
    assert wider == (dtype == "f32" and math is MathType.TENSOR_OP_ALLOW_CONVERSION)


@pytest.mark.parametrize("length", [1, 64, 4096])
def test_rounded_factors_stay_within_the_tolerance(length):
    rng = np.random.default_rng(length)
    a, b = rng.standard_normal((2, 2000, length)).astype(np.float32)
    problem = dnn.parse(f"convolution_forward x=f32:1x{length}x1x1 w=f32:1x{length}x1x1 math=tf32")
    want = (a.astype(np.float64) * b).sum(1)
    bound = tolerance(problem, want, np.abs(a.astype(np.float64) * b).sum(1))
    rounded = [
        ((v.view(np.uint32) + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64) for v in (a, b)
    ]
    error = np.abs((rounded[0] * rounded[1]).sum(1) - want) / bound
    assert 0.01 < error.max() < 1
