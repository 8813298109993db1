"""The right calls of the methods of portadnn.graph.api.pygraph that add nodes, each with the building of its graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from portadnn import graph
from portadnn.enums import plain_number
from portadnn.graph.layout import row_major
from portadnn.graph.memory import host as memory

from .scene import CHANNELS, FILTER, IMAGE, Call, Scene

Word = Callable[[Scene], Any]
D = graph.data_type
LINE, ONE, HEADS, ROWS = (1, 4, 4), (1, 1, 1, 1), (1, 2, 4, 8), (1, 2, 4, 1)
MOST_ELEMENTS = 1 << 16  # of graphs that accepted calls make and run


def tensor(dims: tuple[int, ...], kind: Any = D.FLOAT, **settings: Any) -> graph.tensor:
    """Return a tensor of any graph."""
    made = graph.tensor().set_dim(dims).set_stride(row_major(dims)).set_data_type(kind)
    for name, value in settings.items():
        getattr(made, f"set_{name}")(value)
    return made


def without_address(value: Any) -> Any:
    """Return 0 for an integer that variant packs trust to be an address, anything else as it is."""
    if not isinstance(value, (int, np.integer)):
        return value
    return 0 if memory.LOWEST <= (plain_number(value) or 0) < memory.HIGHEST else value


def of(dims: tuple[int, ...], kind: Any = D.FLOAT) -> Word:
    return lambda s: tensor(dims, kind)


def new(scene: Scene) -> graph.pygraph:
    """Return an empty graph."""
    return graph.pygraph("wrong", D.FLOAT, D.FLOAT, D.FLOAT, scene.handle)


IMAGES = "input input0 input1 comparison a b loss grad dy image mask output"
PER_CHANNEL = "scale bias mean inv_variance sum sq_sum in_running_mean in_running_var"
TENSORS: dict[str, Word] = {
    **dict.fromkeys(
        ["input", "input0", "input1", "comparison", "a", "b", "loss", "grad", "dy", "image", "mask", "output"],
        of(IMAGE),
    ),
    **dict.fromkeys(("weight", "filter"), of(FILTER)),
    **dict.fromkeys(
        ["scale", "bias", "mean", "inv_variance", "sum", "sq_sum", "in_running_mean", "in_running_var"], of(CHANNELS)
    ),
    **dict.fromkeys(["A", "B"], of(LINE)),
    **dict.fromkeys(["q", "k", "v", "o", "dO"], of(HEADS)),
    "stats": of(ROWS),
}
NUMBERS: dict[str, Word] = {
    "negative_slope": lambda s: 0.5,
    "epsilon": lambda s: 1e-3,
    "momentum": lambda s: 0.1,
    "accum_count": lambda s: 16,
    "axis": lambda s: 1,
    "name": lambda s: "",
    "dim": lambda s: list(IMAGE),
    "distribution": lambda s: graph.rng_distribution.UNIFORM,
    "seed": lambda s: 3,
    "norm_forward_phase": lambda s: graph.norm_forward_phase.TRAINING,
    "has_dbias": lambda s: True,
    "permutation": lambda s: [0, 2, 1, 3],
    "inputs": lambda s: [tensor(IMAGE), tensor(IMAGE)],
    "slices": lambda s: [slice(0, 1), slice(0, 2), slice(1, 3), slice(0, 4)],
    "padding": lambda s: [1, 1],
    "is_inference": lambda s: True,
}
_POOL: dict[str, Word] = {
    "mode": lambda s: graph.resample_mode.AVGPOOL_INCLUDE_PADDING,
    "padding_mode": lambda s: graph.padding_mode.ZERO_PAD,
    "window": lambda s: [3, 3],
    "pre_padding": lambda s: [1, 1],
    "post_padding": lambda s: [1, 1],
    "stride": lambda s: [1, 1],
}
_LAYER: dict[str, Word] = {
    "scale": of((1, *IMAGE[1:])),
    "bias": of((1, *IMAGE[1:])),
    "mean": of(ONE),
    "inv_variance": of(ONE),
}
_INSTANCE: dict[str, Word] = {"mean": of(CHANNELS), "inv_variance": of(CHANNELS)}
_EXPERTS = of((2, 1, 1), D.INT32)
FP8 = "sdpa_fp8", "sdpa_fp8_backward"
SPECIAL: dict[str, dict[str, Word]] = {
    "scale": {"scale": of(ONE)},
    "matmul": {"padding": lambda s: 0.0},
    "conv_dgrad": {"filter": of(FILTER)},
    "reduction": {"mode": lambda s: graph.reduction_mode.ADD},
    "resample": _POOL,
    "resample_backward": _POOL,
    "binary_select": {"mask": of(IMAGE, D.BOOLEAN)},
    **{name: {"a": of(IMAGE, D.BOOLEAN), "b": of(IMAGE, D.BOOLEAN)} for name in ("logical_and", "logical_or")},
    **{name: dict.fromkeys(("q", "k", "v", "o", "dO"), of(HEADS, D.FP8_E4M3)) for name in FP8},
    "logical_not": {"input": of(IMAGE, D.BOOLEAN)},
    "rope": {"freqs": of((4, 1, 1, 4))},
    "rope_backward": {"freqs": of((4, 1, 1, 4)), "dY": of(IMAGE)},
    "sdpa_mxfp8": {
        **dict.fromkeys(("q", "k", "v"), of(HEADS, D.FP8_E4M3)),
        **dict.fromkeys(("descale_q", "descale_k"), of((*HEADS[:3], 1), D.FP8_E8M0)),
        "descale_v": of((*HEADS[:2], 1, HEADS[3]), D.FP8_E8M0),
    },
    "sdpa_mxfp8_backward": {
        **dict.fromkeys(("q", "q_T", "k", "k_T", "v", "dO", "dO_T"), of(HEADS, D.FP8_E4M3)),
        **dict.fromkeys(("o_f16", "dO_f16"), of(HEADS)),
        **{f"descale_{name}": of((*HEADS[:3], 1), D.FP8_E8M0) for name in ("q", "q_T", "k", "k_T", "v", "dO", "dO_T")},
    },
    "block_scale_quantize": {"block_size": lambda s: 2},
    "block_scale_dequantize": {
        "input": of(IMAGE, D.FP8_E4M3),
        "descale": of((*IMAGE[:3], 2), D.FP8_E8M0),
        "block_size": lambda s: [2],
    },
    "moe_grouped_matmul": {"token": of((1, 6, 4)), "weight": of((2, 4, 3)), "first_token_offset": _EXPERTS},
    "moe_grouped_matmul_bwd": {"token": of((1, 6, 4)), "doutput": of((1, 6, 3)), "first_token_offset": _EXPERTS},
    **{f"{norm}{end}": _LAYER for norm in ("layernorm", "rmsnorm") for end in ("", "_backward")},
    **dict.fromkeys(("adalayernorm", "adalayernorm_backward"), _LAYER),
    **dict.fromkeys(("instancenorm", "instancenorm_backward"), _INSTANCE),
}
RESULTS = {"conv_dgrad": IMAGE, "conv_wgrad": FILTER, "reduction": CHANNELS, "reshape": (1, 1, 8, 4)}
RESULTS["resample_backward"] = IMAGE
TYPED = {"block_scale_quantize": (D.FP8_E4M3, D.FP8_E8M0)}
GIVEN = ("in_running_mean", "in_running_var", "bias", "momentum", "epsilon", "negative_slope", "padding")


def node_methods() -> list[str]:
    """Return the names of the methods that add nodes."""
    found = []
    for name, method in inspect.getmembers(graph.pygraph, inspect.isfunction):
        parameters = inspect.signature(method).parameters
        if not name.startswith("_") and "name" in parameters and name not in ("tensor", "tensor_like"):
            found.append(name)
    return found


def _node_word(scene: Scene, method: str, parameter: inspect.Parameter) -> Any:
    name = parameter.name
    special = SPECIAL.get(method, {})
    if name in special:
        return special[name](scene)
    if parameter.default is not inspect.Parameter.empty and name not in GIVEN:
        return parameter.default
    if name in TENSORS and not (name == "bias" and method.startswith(("sdpa", "scaled"))):
        return TENSORS[name](scene)
    if name in NUMBERS and not (name == "padding" and not method.startswith("conv")):
        return NUMBERS[name](scene)
    return parameter.default if parameter.default is not inspect.Parameter.empty else tensor(ONE)


def node(method: str) -> Callable[[Scene], Call]:
    parameters = list(inspect.signature(getattr(graph.pygraph, method)).parameters.values())[1:]

    def make(scene: Scene) -> Call:
        def run(self: graph.pygraph, *args: Any, **kwargs: Any) -> None:
            made = getattr(self, method)(*args, **kwargs)
            if method == "block_scale_dequantize":  # whose result stays inside
                made = self.identity(made)
            for one, kind in zip(made if method in TYPED else (), TYPED.get(method, ()), strict=True):
                one.set_data_type(kind)
            for one in made if isinstance(made, (list, tuple)) else (made,):
                if one is not None:
                    one.set_output(True)
                    if method in RESULTS:
                        one.set_dim(RESULTS[method])
            finish(self, scene)

        values = {"self": new(scene), **{p.name: _node_word(scene, method, p) for p in parameters}}
        return Call(
            f"pygraph.{getattr(graph.pygraph, method).__name__}", run, values, frozenset(p.name for p in parameters[1:])
        )

    return make


def finish(made: graph.pygraph, scene: Scene) -> None:
    """Build a graph; on reference, where nothing is compiled, it is run as well if it is small."""
    made.validate()
    made.build_operation_graph()
    made.create_execution_plans([graph.heur_mode.A, graph.heur_mode.FALLBACK])
    made.check_support()
    packed = made._graph_frozen().packed
    if scene.backend != "reference" or sum(info.span for info in packed) > MOST_ELEMENTS:
        return
    made.build_plans()
    made.execute({info.uid: np.ones(info.extent, np.uint8) for info in packed if not info.constant})


def calls() -> dict[str, Callable[[Scene], Call]]:
    """Return what makes the right call of each method, by name."""
    return {f"pygraph.{name}": node(name) for name in node_methods()}
