"""CPU kernels that store past the caches, on small tensors: results, whatever the alignment and the layout."""

from __future__ import annotations

from helper import Case, check, over

from portadnn.problem import parse_line
from portadnn_backends.engines import elementwise, layouts
from portadnn_backends.engines.pool import planes as pooling_planes
from portadnn_backends.engines.softmax import cpu as softmax_cpu

ENGINES = {"softmax": softmax_cpu.ENGINES[0], "pooling": pooling_planes.ENGINES[0]}


def only_cpus(line, **options):
    return Case(line, everywhere=False, **options)


STREAMED = [
    only_cpus("activation_backward x=f32:3x5x7x11 mode=relu"),
    only_cpus("activation_backward x=f64:3x5x7x11 mode=sigmoid alpha=2 beta=0.5"),
    only_cpus("activation_forward x=f32:3x5x7x11 mode=relu", alias=("y", "x")),
    only_cpus("activation_forward x=f32:3x5x7x11@4 y=f32:3x5x7x11@4 mode=relu"),
    only_cpus("activation_forward x=f16:3x5x7x11 mode=tanh"),
    only_cpus("op_tensor a=f32:3x5x7x11 b=f32:1x5x1x1 c=f32:3x5x7x11 operation=mul"),
    only_cpus("pooling_backward x=f32:2x3x9x56 y=f32:2x3x5x28 mode=max window=3,3 padding=1,1 stride=2,2"),
    only_cpus("pooling_backward x=f32:2x3x9x36 y=f32:2x3x5x18 mode=max window=3,3 padding=1,1 stride=2,2"),
    only_cpus("pooling_backward x=f32:2x3x9x33 y=f32:2x3x9x33 mode=max window=3,3 padding=1,1 stride=1,1"),
    only_cpus("pooling_backward x=f32:2x3x11x24 y=f32:2x3x3x8 mode=max window=2,2 padding=0,0 stride=4,3"),
    only_cpus("pooling_backward x=f32:2x3x9x56@4 y=f32:2x3x5x28 mode=max window=3,3 padding=1,1 stride=2,2"),
    only_cpus(
        "pooling_backward x=f32:2x3x9x56 y=f32:2x3x5x28 mode=max window=3,3 padding=1,1 stride=2,2 alpha=2 beta=0.5"
    ),
    only_cpus(
        "pooling_backward x=f64:2x3x10x28 y=f64:2x3x4x13 mode=average_count_include_padding window=3,3 stride=2,2"
    ),
    only_cpus("pooling_backward x=f16:2x3x9x56 y=f16:2x3x5x28 mode=max window=3,3 padding=1,1 stride=2,2"),
    only_cpus("set_tensor y=f32:3x5x7x11 value=0.5"),
    only_cpus("softmax_backward y=f32:2x33x7x11"),
    only_cpus("softmax_backward y=f32:2x33x7x11 algorithm=log alpha=2 beta=0.5"),
    only_cpus("softmax_backward y=f64:3x5x1x19"),
    only_cpus("softmax_backward y=bf16:2x5x7x11"),
    only_cpus("softmax_backward y=f32:2x5x7x11", alias=("dx", "dy")),
]


@over(STREAMED, kernels=True)
def test_past_the_caches(handle, case, monkeypatch):
    monkeypatch.setattr(layouts, "CPU_STREAMED", 0)
    problem, _ = parse_line(case.line)
    engine = ENGINES.get(problem.op.partition("_")[0], elementwise.ENGINES[0])
    if handle.info.schedule == "cpu":
        (launch,) = engine.prepare(problem, handle.device).launches
        assert "#define STREAMED 1" in launch.kernel.source
        check(handle, case, engine=engine)
