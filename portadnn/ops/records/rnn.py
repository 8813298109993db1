"""Records of recurrent networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ...bfloat16 import as_float64
from ...drawing import plain
from ...drawing.draws import Draws
from ...drawing.layouts import tensor
from ...drawing.strata import TYPES, Choices, Drawing
from ...enums import DataType
from ...miopen_driver import form
from ...operation import BAD, UNSUPPORTED, Before, Data, Features, Filling, Operation, Wrong, counterpart
from ...problem import Problem
from ...specs import TensorSpec
from ..dropout import STATES_SIZE
from ..rnn.calls import rnn_backward_data, rnn_backward_weights, rnn_forward_inference, rnn_forward_training
from ..rnn.layout import DirectionMode, Network, RNNBiasMode, RNNInputMode, RNNMode
from ..rnn.problems import RNNBackwardData, RNNBackwardWeights, RNNForwardInference, RNNForwardTraining

_SIZES = ("small", "odd", "one", "wide", "odd", "vector", "steps")

_STATES = ("all", "none", "in", "out", "any")

_STEPS = "hidden_size=5 num_layers=1 mode=lstm"


def _sizes(draws: Draws, size: str) -> tuple[int, int, int, list[int]]:
    """Return features, hidden size, layers and the sequences of each step."""
    layers = draws.choice((1, 2, 1, 2, 3))
    if size == "one":
        return draws.integers(1, 4), 1, layers, [1]
    if size == "wide":
        return draws.integers(1, 40), draws.integers(17, 36), 1, [draws.integers(1, 4), 1]
    if size == "vector":
        return 16, 16, layers, [4, 4]
    if size == "steps":
        return 2, draws.integers(2, 5), 1, [draws.integers(1, 4)] * draws.integers(17, 40)
    return draws.integers(1, 9), draws.integers(2, 9), layers, [draws.integers(1, 5)] * draws.integers(1, 5)


def _tensors_of(op: str) -> tuple[str, ...]:
    """Return the states that a pass may have."""
    if op == "rnn_backward_data":
        return ("dhy", "dcy", "hx", "cx", "dhx", "dcx")
    return ("hx",) if op == "rnn_backward_weights" else ("hx", "cx", "hy", "cy")


def _recurrent(draws: Draws, choices: Choices, op: str) -> str:
    mode, dtype = choices["mode"], choices["dtype"]
    features, hidden, layers, batches = _sizes(draws, choices["size"])
    skip = choices["input_mode"] is RNNInputMode.SKIP_INPUT
    features = hidden if skip else features
    directions = 2 if choices["direction"] is DirectionMode.BIDIRECTIONAL else 1
    if choices["packed"]:  # sequences end one after the other
        for step in range(1, len(batches)):
            batches[step] = max(1, batches[step - 1] - draws.integers(0, 2))
    bias = choices["bias_mode"]
    proj = max(1, hidden // 2) if choices["projected"] and mode is RNNMode.LSTM and hidden > 1 else 0
    network = Network(mode, hidden, layers, directions, features, skip, bias, proj)

    def steps(width: int) -> str:
        dims = (sum(batches), width, 1) if choices["packed"] else (len(batches), batches[0], width)
        return tensor(dtype, dims)

    x, y, w = steps(features), steps(network.width), tensor(dtype, (network.size, 1, 1))
    tensors = {
        "rnn_backward_data": {"y": y, "dy": y, "w": w, "dx": x},
        "rnn_backward_weights": {"x": x, "y": y, "dw": w},
    }.get(op, {"x": x, "w": w, "y": y})
    for name in _tensors_of(op):
        wanted = {"all": True, "none": False, "in": "y" not in name, "out": "x" not in name}.get(
            choices["states"], draws.integers(2) == 1
        )
        if wanted and ("c" not in name or mode is RNNMode.LSTM):
            tensors[name] = tensor(dtype, (layers * directions, batches[0], hidden if "c" in name else network.output))
    words = [op, *(f"{name}={text}" for name, text in tensors.items())]
    words += [f"hidden_size={hidden}", f"num_layers={layers}", f"mode={mode.name.lower()}"]
    words += [f"direction={choices['direction'].name.lower()}", f"input_mode={choices['input_mode'].name.lower()}"]
    if bias is not RNNBiasMode.DOUBLE_BIAS:
        words.append(f"bias_mode={bias.name.lower()}")
    if choices["clip"]:
        words.append("clip_min=-0.25 clip_max=0.5")
    if proj:
        words.append(f"proj_size={proj}")
    if choices["dropout"]:
        words.append(f"dropout={choices['dropout']}")
    if choices["packed"]:
        words.append(f"batch_sizes={','.join(map(str, batches))}")
    return " ".join(words)


_DRAWING = Drawing(
    _recurrent,
    crossed={
        "dtype": TYPES,
        "mode": tuple(RNNMode),
        "direction": tuple(DirectionMode),
        "input_mode": tuple(RNNInputMode),
        "packed": (False, True),
    },
    turns={
        **{"size": _SIZES, "states": _STATES, "dropout": (0.0, 0.5, 0.0, 0.25)},
        "bias_mode": (*[RNNBiasMode.DOUBLE_BIAS] * 3, *RNNBiasMode),
        "clip": (False, False, True),
        "projected": (False, False, False, True, True),
    },
)


def _plain(*names: str) -> plain.Describe:
    def tensors(c: Choices) -> dict[str, str]:
        mode, skip = RNNMode.parse(c.get("mode", "lstm")), c.get("input_mode") == "skip_input"
        ways = 2 if c.get("direction") == "bidirectional" else 1
        hidden = c["hidden_size"]
        features = hidden if skip else 3
        bias = RNNBiasMode.parse(c.get("bias_mode", "double_bias"))
        proj = c.get("proj_size", 0)
        network = Network(mode, hidden, c.get("num_layers", 1), ways, features, skip, bias, proj)
        size = network.size
        batch = 2**27 if c.get("size") == "long" else 2
        narrow, wide = (((3, n, 1) if c.get("batch_sizes") else (2, batch, n)) for n in (features, network.width))
        sizes = {"x": narrow, "dx": narrow, "y": wide, "dy": wide, "w": (size, 1, 1), "dw": (size, 1, 1)}
        return {name: plain.text(c["dtype"], sizes[name]) for name in names}

    return tensors


def _implied(c: Choices) -> Mapping[str, Any]:
    layers = {"num_layers": 2} if c.get("dropout") else {}  # it lies between layers
    return {"hidden_size": 32768 if c.get("size") == "large" else 5, **layers}


def _features(*names: str) -> Features:
    more = {"num_layers": (1, 2), "batch_sizes": ((), (2, 1)), "dropout": (0.0, 0.5)}
    return Features(_plain(*names), ranks=(), layouts=(), sizes=("small", "large", "long"), more=more, implied=_implied)


def _forward_of(problem: Any) -> RNNForwardTraining:
    """Return the training pass whose results a gradient's problem reads; states and weights are packed."""
    names = [f.name for f in fields(RNNForwardTraining) if f.name not in RNNForwardTraining.outputs]
    values: dict[str, Any] = {name: getattr(problem, name, None) for name in names}
    dtype, network = problem.dtype, problem.network
    values["x"] = problem.data
    values["w"] = TensorSpec.packed(dtype, (network.size, 1, 1))
    values["y"] = problem.y
    values["reserve"] = problem.reserve
    if problem.kept.dropout:
        values["states"] = TensorSpec(DataType.UINT8, (STATES_SIZE,), (1,))
    state = TensorSpec.packed(dtype, (network.layers * network.directions, problem.sequence.batch, network.hidden))
    if problem.op == "rnn_backward_weights" and problem.hx is not None and problem.mode is RNNMode.LSTM:
        values["cx"] = state
    return RNNForwardTraining(**values)


def _sensible(filling: Filling) -> None:
    """Make parameters whose sums stay of order one, and what the forward pass would have left for a gradient."""
    problem, arrays, scale = filling.problem, filling.arrays, 1 / np.sqrt(filling.problem.hidden_size)

    def stored(spec: TensorSpec, name: str) -> Any:
        size = scale if name == "w" else 1.0
        return spec.dtype.stored(size * as_float64(filling.draw(spec, name)))

    if "w" in arrays:
        arrays["w"][...] = stored(problem.w, "w")
    if "backward" not in problem.op:
        return
    forward = _forward_of(problem)
    tensors = {}
    for name, spec in zip(forward.names, forward.tensors, strict=True):
        if name in arrays and name in forward.inputs:
            tensors[name] = arrays[name].copy()
        elif name == "reserve":
            tensors[name] = np.zeros(spec.dims, np.uint8)
        else:
            tensors[name] = filling.draw(spec, name) if spec.dtype is DataType.UINT8 else stored(spec, name)
    found = filling.exact(forward, [tensors[name] for name in forward.names], {})
    filling.store("y", found["y"])
    arrays["reserve"][...] = found["reserve"]


_DATA = Data(
    (
        ("*", ("nan", "inf", "huge"), "maxima and masks of gradients may pass over NaN; gates overflow on the way"),
        ("*", ("cancelling",), "saturated gates magnify the rounding of large sums"),
    ),
    opaque=("reserve",),
    fit=_sensible,
)


def _write(problem: Any, numbers: form.Numbers) -> str:
    mode = problem.mode.name.removeprefix("RNN_").lower()
    network, sequence = problem.network, problem.sequence
    batches = sequence.batches if problem.batch_sizes else sequence.batches[:1]
    options: dict[str, Any] = {"n": ",".join(map(str, batches)), "W": network.features, "H": problem.hidden_size}
    options |= {
        "l": problem.num_layers,
        "b": int(problem.bias_mode is not RNNBiasMode.NO_BIAS),
        "m": mode,
        "p": int(problem.input_mode),
        "r": int(problem.direction),
    }
    options |= {"q": 0, "k": len(sequence.batches)}
    if "forward" in problem.op:
        options["c"] = int(problem.op.endswith("inference"))
    options["F"] = {"data": 2, "weights": 4}.get(problem.op.rpartition("_")[2], 1)
    options |= {"t": 1, "w": 1}
    if problem.dropout:
        options |= {"U": 1, "P": problem.dropout}
    return f"{form.first_word('rnn', problem.data)} {form.written(**options)}"


def _read(options: form.Options, t: str) -> list[str]:
    """Read rnn: batches that shrink from step to step, the last one's for the steps that have none."""
    given, steps = form.numbers_of(options.get("n", "4")), int(options.get("k", "1"))
    batches = (*given, *given[-1:] * steps)[:steps]
    hidden, layers = int(options.get("H", "32")), int(options.get("l", "1"))
    mode = {"relu": RNNMode.RNN_RELU, "tanh": RNNMode.RNN_TANH, "lstm": RNNMode.LSTM, "gru": RNNMode.GRU}[
        options.get("m", "tanh")
    ]
    skip, ways = options.get("p", "0") == "1", int(options.get("r", "0"))
    bias = RNNBiasMode.DOUBLE_BIAS if options.get("b", "0") not in ("0", "") else RNNBiasMode.NO_BIAS
    features = hidden if skip else int(options.get("W", "32"))
    network = Network(mode, hidden, layers, 1 + ways, features, skip, bias, 0)
    packed = len(set(batches)) > 1

    def sequence(width: int) -> str:
        return form.tensor_text(t, (sum(batches), width, 1) if packed else (steps, batches[0], width))

    x, y, w = sequence(features), sequence(network.width), form.tensor_text(t, (network.size, 1, 1))
    words = [f"hidden_size={hidden} num_layers={layers} mode={mode.name.lower()}"]
    words.append(f"direction={DirectionMode(ways).name.lower()} input_mode={RNNInputMode(int(skip)).name.lower()}")
    words.append(f"bias_mode={bias.name.lower()}")
    if options.get("U", "0") == "1":
        words.append(f"dropout={float(options.get('P', '0'))}")
    if packed:
        words.append(f"batch_sizes={','.join(map(str, batches))}")
    forward = "inference" if options.get("c", "0") == "1" else "training"
    lines = {
        f"forward_{forward}": f"x={x} w={w} y={y}",
        "backward_data": f"y={y} dy={y} w={w} dx={x}",
        "backward_weights": f"x={x} y={y} dw={w}",
    }
    wanted = form.directions(options, {1: f"forward_{forward}", 2: "backward_data", 4: "backward_weights"})
    return [f"rnn_{name} {lines[name]} {' '.join(words)}" for name in wanted]


_LONG = {
    **{"forw": "F", "num_layer": "l", "seq_len": "k", "bidirection": "r", "batchsize": "n", "hid_h": "H", "in_h": "W"},
    **{"bias": "b", "mode": "m", "inputmode": "p", "fwdtype": "c", "use_dropout": "U", "dropout": "P"},
}
_DRIVER = form.Driver("rnn", _write, _read, letters=_LONG)


def _before(*kinds: type[Problem]) -> Callable[[Any], Before]:
    def before(problem: Any) -> Before:
        data, y = problem.data, problem.y  # tensors that one pass may lack and another wants
        w = TensorSpec.packed(problem.dtype, (problem.network.size, 1, 1))
        more = {"x": data, "dx": data, "y": y, "dy": y, "cx": None, "w": w}
        for kind in kinds:
            wanted = {name: spec for name, spec in more.items() if name in kind.tensor_names()}
            yield counterpart(kind, problem, **wanted)

    return before


RECORDS = (
    Operation(
        RNNForwardInference,
        rnn_forward_inference,
        _DRAWING,
        _features("x", "w", "y"),
        Wrong(
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
                    "proj_size=5",  # none that is smaller
                    "proj_size=3",  # with the parameters of none
                ),
                UNSUPPORTED: ("compute_type={wrong}",),
            },
        ),
        _DATA,
        driver=_DRIVER,
    ),
    Operation(
        RNNForwardTraining,
        rnn_forward_training,
        _DRAWING,
        _features("x", "w", "y"),
        Wrong(
            "4.108",
            f"x={{t}}:2x3x4 w={{t}}:220x1x1 y={{t}}:2x3x5 {_STEPS}",
            {
                BAD: ("w={t}:219x1x1", "reserve=<", "y={t}:2x3x6", "hx={t}:1x3x4", "cy={o}:1x3x5", "hidden_size=0"),
                UNSUPPORTED: ("compute_type={wrong}",),
            },
        ),
        _DATA,
        driver=_DRIVER,
    ),
    Operation(
        RNNBackwardData,
        rnn_backward_data,
        _DRAWING,
        _features("y", "dy", "w", "dx"),
        Wrong(
            "4.109",
            f"y={{t}}:2x3x5 dy={{t}}:2x3x5 w={{t}}:220x1x1 dx={{t}}:2x3x4 {_STEPS}",
            {
                BAD: ("w={t}:219x1x1", "reserve=<", "dy={t}:2x3x4", "dhx={t}:1x3x4", "dcx={o}:1x3x5", "dx={t}:2x2x4"),
                UNSUPPORTED: ("compute_type={wrong}",),
            },
        ),
        _DATA,
        driver=_DRIVER,
        before=_before(RNNForwardTraining),
    ),
    Operation(
        RNNBackwardWeights,
        rnn_backward_weights,
        _DRAWING,
        _features("x", "y", "dw"),
        Wrong(
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
        _DATA,
        driver=_DRIVER,
        before=_before(RNNForwardTraining, RNNBackwardData),
    ),
)
