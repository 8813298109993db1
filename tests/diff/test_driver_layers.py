"""MIOpenDriver's lines of layers, tensors and Adam: read by its options and defaults, written, and read back."""

from __future__ import annotations

import pytest
from driver_round_trip import comes_back

import portadnn as dnn
from portadnn.diff.command_lines import from_driver_line
from portadnn.problem import parse
from portadnn.recording.driver_lines import driver_line

P = "f32:1x3x1x1"
READ = [  # command lines, and the problems that driver/*_driver.hpp makes of them
    ("bnorm -n 2 -c 3 -H 4 -W 5 -m 1 -F 2", ["batch_normalization_forward_inference x=f32:2x3x4x5 mode=spatial"]),
    (
        "bnormfp16fp32 --batchsize 2 --in_channels 3 --in_h 4 --in_w 5 --mode 1 --forw 1 --save 1 --run 1 -L NHWC",
        [
            f"batch_normalization_forward_training x=f16:2x3x4x5:nhwc scale={P} bias={P} running_mean={P} "
            f"running_variance={P} saved_mean={P} saved_inv_variance={P} mode=spatial"
        ],
    ),
    (
        "bnorm -n 2 -c 3 -D 6 -H 4 -W 5 -b 1 -s 1",
        [
            "batch_normalization_backward x=f32:2x3x6x4x5 dy=f32:2x3x6x4x5 scale=f32:1x3x6x4x5 "
            "saved_mean=f32:1x3x6x4x5 saved_inv_variance=f32:1x3x6x4x5 mode=per_activation"
        ],
    ),
    ("dropout -F 1 -d 8,9 -p 0.25", ["dropout_forward x=f32:8x9x1 dropout=0.25"]),
    ("dropoutfp16 -d 2,3,4", ["dropout_forward x=f16:2x3x4 dropout=0.5", "dropout_backward dy=f16:2x3x4 dropout=0.5"]),
    (
        "ctc -n 3 -k 12,7 -l 2,4 -c 5 -b 1",
        [
            "ctc_loss probs=f32:12x3x6 labels=i32:3x4 label_lengths=i32:3 input_lengths=i32:3 costs=f32:3 "
            "gradients=f32:12x3x6 normalization=softmax blank=1"
        ],
    ),
    (
        "CBAInfer -F 4 -n 2 -c 3 -H 8 -W 7 -k 4 -y 3 -x 3 -p 1 -q 1 -m 7 -A 6",
        [
            "convolution_bias_activation_forward x=f32:2x3x8x7 w=f32:4x3x3x3 padding=1,1 activation=clipped_relu "
            "ceiling=6"
        ],
    ),
    (
        "CBAInferfp16 --fusion_mode 6 -n 1 -c 4 -H 5 -W 5 -k 6 -y 1 -x 1 -g 2",
        ["convolution_bias_activation_forward x=f16:1x4x5x5 w=f16:6x2x1x1 groups=2 activation=identity"],
    ),
    (
        "rnn -n 4 -k 3 -H 5 -W 6 -m lstm -b 1 -F 1 -l 2 -r 1",
        [
            "rnn_forward_training x=f32:3x4x6 w=f32:1200x1x1 y=f32:3x4x10 hidden_size=5 num_layers=2 mode=lstm "
            "direction=bidirectional"
        ],
    ),
    (
        "rnnfp16 -n 3,2 -k 3 -H 4 -m gru -p 1 -F 6 -U 1 -P 0.5",
        [
            "rnn_backward_data y=f16:7x4x1 dy=f16:7x4x1 w=f16:48x1x1 dx=f16:7x4x1 hidden_size=4 num_layers=1 mode=gru "
            "input_mode=skip_input bias_mode=no_bias dropout=0.5 batch_sizes=3,2,2",
            "rnn_backward_weights x=f16:7x4x1 y=f16:7x4x1 dw=f16:48x1x1 hidden_size=4 num_layers=1 mode=gru "
            "input_mode=skip_input bias_mode=no_bias dropout=0.5 batch_sizes=3,2,2",
        ],
    ),
    ("tensorop -n 2 -c 3 -H 4 -W 5", ["set_tensor y=f32:2x3x4x5"]),
    ("tensoropfp16 -n 2 -c 3 -H 4 -W 5 -o 1 -v 3", ["scale_tensor y=f16:2x3x4x5"]),
    (
        "tensorop -n 2 -c 3 -H 4 -W 5 -o 4",
        ["op_tensor a=f32:2x3x4x5 b=f32:2x3x4x5 c=f32:2x3x4x5 operation=min"],
    ),
    ("reduce -D 2,3,4 -R 0,2 -O 5", ["reduce_tensor a=f32:2x3x4 c=f32:1x3x1 operation=avg"]),
    (
        "reducefp16 --DimLengths 6,7 --DimsToReduce 1 --ReduceOp 3 --IndicesUsed 1 --NanPropagation 1",
        ["reduce_tensor a=f16:6x7x1 c=f16:6x1x1 operation=max nan_propagation=propagate_nan indices=i32:6x1x1"],
    ),
    ("cat -1 2x3x4 -2 2x5x4 -3 2x1x4 -d -2", ["cat_forward x0=f32:2x3x4 x1=f32:2x5x4 x2=f32:2x1x4 dim=1"]),
    ("catbfp16 --input1 2x3 --input2 4x3", ["cat_forward x0=bf16:2x3x1 x1=bf16:4x3x1 dim=0"]),
    ("getitem -O 5x7 -D 5 -N 9x7", ["getitem_backward dy=f32:5x7x1 dx=f32:9x7x1 index0=i32:5 dims=0"]),
    (
        "getitem -O 5x3 -D 5 -N 9x7 -3 0 -4 1 -5 1x0x6x2 -6 1",
        ["getitem_backward dy=f32:5x3x1 dx=f32:9x7x1 index0=i32:5 dims=0 slices=1,0,6,2 offset=1"],
    ),
    (
        "adam -d 4x5 -1 0.5 -2 0.75",
        [f"adam {' '.join(f'{n}=f32:4x5x1' for n in ('param', 'grad', 'exp_avg', 'exp_avg_sq'))}"],
    ),
    (
        "ampadamw -d 4x5x6 -a 1 -m 1",
        [
            "adam param=f32:4x5x6 grad=f16:4x5x6 exp_avg=f32:4x5x6 exp_avg_sq=f32:4x5x6 max_exp_avg_sq=f32:4x5x6 "
            "max_exp_avg_sq_out=f32:4x5x6 grad_scale=i32:1 found_inf=i32:1 state_step=i32:1 state_step_out=i32:1 "
            "amsgrad=yes adamw=yes maximize=yes"
        ],
    ),
]


@pytest.mark.parametrize(("line", "wanted"), READ, ids=[line for line, _ in READ])
def test_lines_are_read_and_come_back(line, wanted):
    comes_back(line, wanted)


def test_what_is_no_problem_is_refused():
    for line, reason in (
        ("bnorm -n 2", "-F: expected 1 for training"),
        ("CBAInfer -F 0", "convolution, bias, activation"),
        ("CBAInfer -F 4 -m 4", "ActivationMode"),
        ("tensorop -o 9", "OpTensorOp"),
        ("reduce -D 2,3 -R 2", "-R: expected dims below 2"),
    ):
        with pytest.raises(dnn.NotSupported, match=reason):
            from_driver_line(f"MIOpenDriver {line}")
    for line in ("rnn -m elman", "reduce -D 2by3", "cat -1 2xmany", "ctc -k long"):
        with pytest.raises(dnn.BadParam):
            from_driver_line(f"MIOpenDriver {line}")


def test_what_the_drivers_lack_is_said():
    loss = "ctc_loss probs=f32:6x2x5 labels=i32:2x3 label_lengths=i32:2 input_lengths=i32:2"
    fused = "convolution_bias_activation_forward x=f32:2x3x8x7 w=f32:4x3x3x3 padding=1,1 activation=relu"
    assert driver_line(parse(loss), {}).endswith("the driver computes gradients always")
    assert driver_line(parse(fused), {"alpha1": 1.0, "alpha2": 1.0}).endswith("the driver adds no z")
    assert "MIOpen has no SWISH" in driver_line(parse(fused.replace("relu", "swish")), {"alpha1": 1.0, "alpha2": 0.0})
