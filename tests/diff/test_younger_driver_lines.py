"""MIOpenDriver's lines of younger operations: read by its options and defaults, written, and read back."""

from __future__ import annotations

import pytest
from driver_round_trip import comes_back

import portadnn as dnn
from portadnn.diff.command_lines import from_driver_line
from portadnn.problem import parse
from portadnn.recording.driver_lines import driver_line

READ = [  # command lines, and the problems that driver/*_driver.hpp makes of them
    ("glu -D 4x6 -R 1", ["glu_forward x=f32:4x6x1 dim=1"]),
    ("glufp16 -F 0", ["glu_forward x=f16:256x512x1 dim=0", "glu_backward x=f16:256x512x1 dim=0"]),
    ("rope -X 2x3x4x6 -F 2", ["rope_backward dy=f32:2x3x4x6 cos=f32:1x3x4x6 sin=f32:1x3x4x6"]),
    ("ropebfp16", ["rope_forward x=bf16:100x3x32x32 cos=bf16:1x3x32x32 sin=bf16:1x3x32x32"]),
    (
        "prelu -D 2x3x4x5 -P 3 -F 2",
        ["prelu_backward x=f32:2x3x4x5 weight=f32:1x3x1x1 dy=f32:2x3x4x5 dx=f32:2x3x4x5 dweight=f32:1x3x1x1"],
    ),
    ("kthvalue -D 5x6x7 -k 3 -d -1", ["kthvalue_forward x=f32:5x6x7 k=3 dim=2"]),
    ("softmarginloss -D 2x3x4 -R mean", ["soft_margin_loss_forward x=f32:2x3x4 target=f32:2x3x4 reduction=mean"]),
    (
        "softmarginloss -D 2x3x4 -F 2",
        ["soft_margin_loss_backward x=f32:2x3x4 target=f32:2x3x4 dloss=f32:2x3x4 reduction=none"],
    ),
    ("multimarginloss -R sum", ["multi_margin_loss_forward x=f32:41x4 target=i64:41 weight=f32:4 reduction=sum p=1"]),
    ("layernorm -X 2x3x4 -o 1", ["normalization_forward x=f32:2x3x4 mode=layer_norm axis=1"]),
    (
        "layernormfp16 -X 2x3 -o 1 -m 1",
        ["normalization_forward x=f16:2x3x1 scale=f32:1x3x1 bias=f32:1x3x1 mode=layer_norm axis=1"],
    ),
    ("groupnorm -n 2 -c 6 -D 0 -H 4 -W 5 -g 3", ["normalization_forward x=f32:2x6x4x5 mode=group_norm groups=3"]),
    ("t5layernorm -X 2x3x4 -F 1", ["normalization_forward x=f32:2x3x4 mode=rms_norm axis=2"]),
    (
        "t5layernorm -X 2x3x4 -m 6 -F 2",
        ["normalization_backward x=f32:2x3x4 dy=f32:2x3x4 scale=f32:1x1x4 dscale=f32:1x1x4 mode=rms_norm axis=2"],
    ),
]


@pytest.mark.parametrize(("line", "wanted"), READ, ids=[line for line, _ in READ])
def test_lines_are_read_and_come_back(line, wanted):
    comes_back(line, wanted)


def test_what_the_drivers_lack_is_said():
    for line, reason in (
        ("x=f32:2x3x4x5 mode=instance_norm", "no instance normalisation"),
        ("x=f32:2x3x4x5 scale=f32:1x1x4x5 mode=layer_norm axis=2", "scale and bias"),
        ("x=f32:2x3x4x5 mode=rms_norm axis=2", "over the last dim"),
        ("x=f64:2x3x4x5 mode=layer_norm axis=2", "takes no"),
    ):
        written = driver_line(parse(f"normalization_forward {line}"), {"alpha": 1.0, "beta": 0.0, "epsilon": 1e-5})
        assert written.startswith("#") and reason in written
    backward = parse("normalization_backward x=f32:2x3x4 dy=f32:2x3x4 mode=layer_norm axis=2")
    assert "T5's normalisation alone" in driver_line(backward, dict(type(backward).scalars))
    with pytest.raises(dnn.NotSupported, match="gradients"):
        from_driver_line("MIOpenDriver prelu -D 2x3x4")
    for wrong in ("glu -D 4by6", "multimarginloss -D 4", "layernorm -X 2x3x4 -o many"):
        with pytest.raises(dnn.BadParam):
            from_driver_line(f"MIOpenDriver {wrong}")
