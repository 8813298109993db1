"""The rules of dropout, recurrent networks and spatial transformers, for :mod:`.broken_rules`."""

from __future__ import annotations

from ...operation import BAD, UNSUPPORTED
from ...operation import Wrong as Rules

_STEPS = "hidden_size=5 num_layers=1 mode=lstm"

NETWORKS: dict[str, Rules] = {
    "dropout_forward": Rules(
        "4.116",
        "x={t}:2x3x4x5 y={t}:2x3x4x5 reserve_space=u8:16 states=u8:32 dropout=0.5",
        {
            BAD: (
                "reserve_space=<",
                "states=<",
                "y={t}:2x3x4x6",
                "y={o}:2x3x4x5",
                "reserve_space=u8:12",
                "dropout=1.001",
                "dropout=-0.001",
            )
        },
    ),
    "dropout_backward": Rules(
        "4.117",
        "dy={t}:2x3x4x5 reserve_space=u8:16 dx={t}:2x3x4x5 dropout=0.5",
        {
            BAD: (
                "reserve_space=<",
                "dx={t}:2x3x4x6",
                "dx={o}:2x3x4x5",
                "dropout=1.001",
                "reserve_space=u8:12",
                "reserve_space=f32:4x1x1",
            )
        },
    ),
    "set_dropout_descriptor": Rules(
        "4.115", "states=u8:32 seed=1", {BAD: ("states=<", "seed=-1", "seed=18446744073709551616", "states=i32:8")}
    ),
    "rnn_forward_inference": Rules(
        "4.107",
        f"x={{t}}:2x3x4 w={{t}}:220x1x1 y={{t}}:2x3x5 hx={{t}}:1x3x5 cx={{t}}:1x3x5 {_STEPS}",
        {
            BAD: (
                "w={t}:219x1x1",
                "w={t}:221x1x1",
                "y={t}:2x3x4",
                "y={o}:2x3x5",
                "hx={t}:1x2x5",
                "hx={t}:2x3x5",
                "mode=gru w={t}:165x1x1",  # has no cells
                "hidden_size=0",
                "num_layers=0",
                "input_mode=skip_input w={t}:140x1x1",
                "x={t}:2x3x4/24,8,2",
                "batch_sizes=3,4",
                "dropout=1.5",
            ),
            UNSUPPORTED: ("compute_type={wrong}",),
        },
    ),
    "rnn_forward_training": Rules(
        "4.108",
        f"x={{t}}:2x3x4 w={{t}}:220x1x1 y={{t}}:2x3x5 {_STEPS}",
        {
            BAD: ("w={t}:219x1x1", "reserve=<", "y={t}:2x3x6", "hx={t}:1x3x4", "cy={o}:1x3x5", "hidden_size=0"),
            UNSUPPORTED: ("compute_type={wrong}",),
        },
    ),
    "rnn_backward_data": Rules(
        "4.109",
        f"y={{t}}:2x3x5 dy={{t}}:2x3x5 w={{t}}:220x1x1 dx={{t}}:2x3x4 {_STEPS}",
        {
            BAD: ("w={t}:219x1x1", "reserve=<", "dy={t}:2x3x4", "dhx={t}:1x3x4", "dcx={o}:1x3x5", "dx={t}:2x2x4"),
            UNSUPPORTED: ("compute_type={wrong}",),
        },
    ),
    "rnn_backward_weights": Rules(
        "4.110",
        f"x={{t}}:2x3x4 y={{t}}:2x3x5 dw={{t}}:220x1x1 {_STEPS}",
        {
            BAD: (
                "dw={t}:219x1x1",
                "reserve=<",
                "y={t}:2x3x4",
                "hx={t}:1x3x4",
                "dw={o}:220x1x1",
                "num_layers=0 reserve=u8:2048",
            ),
            UNSUPPORTED: ("compute_type={wrong}",),
        },
    ),
    "spatial_tf_grid_generator_forward": Rules(
        "4.121",
        "theta={t}:2x2x3 grid={t}:2x4x5x2",
        {
            BAD: ("theta={t}:3x2x3", "theta={t}:2x3x2", "grid={t}:2x4x5x3", "grid={o}:2x4x5x2", "dims=2,3,5,4"),
        },
    ),
    "spatial_tf_grid_generator_backward": Rules(
        "4.122",
        "dgrid={t}:2x4x5x2 dtheta={t}:2x2x3",
        {BAD: ("dtheta={t}:1x2x3", "dtheta={o}:2x2x3", "dgrid={t}:2x4x5x3", "dims=2,3,5,4", "dtheta={t}:2x3x2")},
    ),
    "spatial_tf_sampler_forward": Rules(
        "4.123",
        "x={t}:2x3x8x8 grid={t}:2x4x5x2 y={t}:2x3x4x5",
        {
            BAD: (
                "grid={t}:2x3x5x2",
                "x={t}:2x4x8x8",
                "x={t}:1x3x8x8",
                "grid={o}:2x4x5x2",
                "y={o}:2x3x4x5",
                "dims=2,4,4,5",
                "x={t}:2x3x8",
            ),
            UNSUPPORTED: ("x={t}:2x3x8x8x1",),
        },
    ),
    "spatial_tf_sampler_backward": Rules(
        "4.124",
        "x={t}:2x3x8x8 dy={t}:2x3x4x5 grid={t}:2x4x5x2 dx={t}:2x3x8x8 dgrid={t}:2x4x5x2",
        {
            BAD: ("dy={t}:2x3x5x5", "dx={t}:2x3x8x7", "dgrid={t}:2x4x4x2", "dgrid={o}:2x4x5x2", "in_place=dx:x"),
            UNSUPPORTED: ("x={t}:2x3x8x8x1 dx={t}:2x3x8x8x1",),
        },
    ),
}
