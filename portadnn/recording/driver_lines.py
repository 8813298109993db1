"""Recordings as command lines of MIOpenDriver, which times each problem by itself on an AMD GPU.

Options are those of MIOpen 3 (driver/*_driver.hpp), in the order in which MIOpen's own log (MIOPEN_ENABLE_LOGGING_CMD)
prints them. What a line cannot say, such as strides, follows it as a comment.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..enums import DataType, TensorFormat
from ..errors import BadParam, DnnError
from ..mapping import table
from ..problem import Problem, TensorSpec
from .c_calls import problem_of
from .reader import Recording

PROGRAM = "./bin/MIOpenDriver"
_FLAGS = {"forward": 1, "backward": 2, "backward_data": 2, "backward_filter": 4}
_SUFFIX = {DataType.FLOAT: "", DataType.HALF: "fp16", DataType.BFLOAT16: "bfp16"}
_BLENDED = ("softmax", "op_tensor", "set_tensor", "scale_tensor", "reduce")  # whose drivers take alpha and beta
Numbers = dict[str, float]


class NoLine(Exception):
    """MIOpenDriver has no such problem; the text says what is missing."""


def _base(name: str, spec: TensorSpec, types: Sequence[DataType] = (DataType.FLOAT, DataType.HALF)) -> str:
    """Return the first word, which has the data type in it."""
    if spec.dtype not in types:
        raise NoLine(f"{name} takes no {spec.dtype.type_name}")
    return name + ("fp64" if spec.dtype is DataType.DOUBLE else _SUFFIX[spec.dtype])


def _options(**values: Any) -> str:
    """Return options, a letter each in one word, longer names with two dashes."""
    words = []
    for name, value in values.items():
        dashes = "-" if len(name) == 1 else "--"
        text = f"{value:g}" if isinstance(value, float) else str(value)
        words.append(f"{dashes}{name} {text}")
    return " ".join(words)


def _image(spec: TensorSpec, most: int = 4) -> dict[str, int]:
    """Return the options of an image's dims."""
    if len(spec.dims) != 4 or most < 4:
        raise NoLine(f"{len(spec.dims)} dims")
    return dict(zip("ncHW", spec.dims, strict=True))


def _direction(problem: Problem) -> int:
    name = problem.op
    return next(flag for word, flag in reversed(_FLAGS.items()) if name.endswith(word))


def _layouts(**specs: TensorSpec) -> dict[str, str]:
    """Return the layouts that are not the usual ones; where one is NHWC, so is what could be either."""
    if all(spec.format is not TensorFormat.NHWC for spec in specs.values()):
        return {}
    last = {name: spec for name, spec in specs.items() if spec.is_packed(TensorFormat.NHWC)}
    return {name: "NDHWC" if len(spec.dims) == 5 else "NHWC" for name, spec in last.items()}


def _conv(problem: Any, numbers: Numbers) -> str:
    if problem.mode.name == "CONVOLUTION":
        raise NoLine("MIOpen does not flip filters")
    types = (DataType.FLOAT, DataType.HALF, DataType.BFLOAT16)
    x, w = problem.image, problem.filter
    base = _base("conv", x, types)
    (n, c), (k,) = x.dims[:2], w.dims[:1]
    deep = len(x.dims) == 5
    options: dict[str, Any] = {"n": n, "c": c}
    if deep:
        options["in_d"] = x.dims[2]
    options.update(zip("HW", x.dims[-2:], strict=True), k=k)
    if deep:
        options["fil_d"] = w.dims[2]
    options.update(zip("yx", w.dims[-2:], strict=True))
    for letters, long, values in (
        ("pq", "pad_d", problem.padding),
        ("uv", "conv_stride_d", problem.stride),
        ("lj", "dilation_d", problem.dilation),
    ):
        if deep:
            options[long] = values[0]
        options.update(zip(letters, values[-2:], strict=True))
    if deep:
        options["spatial_dim"] = 3
    options.update(_layouts(in_layout=x, fil_layout=w, out_layout=problem.result))
    return f"{base} {_options(**options, m='conv', g=problem.groups, F=_direction(problem), t=1)}"


def _pool(problem: Any, numbers: Numbers) -> str:
    x = problem.x
    mode = {"MAX": "max", "AVERAGE_COUNT_INCLUDE_PADDING": "avg_in", "AVERAGE_COUNT_EXCLUDE_PADDING": "avg"}
    layout = "NCDHW" if len(x.dims) == 5 else "NCHW"
    layout = next(iter(_layouts(x=x).values()), layout)
    options: dict[str, Any] = {"input": f"{'x'.join(map(str, x.dims))},{layout}"}
    for long, values in (("win", problem.window), ("pool_stride", problem.stride), ("pad", problem.padding)):
        options.update(zip([f"{long}_{axis}" for axis in "dhw"[-len(values) :]], values, strict=True))
    # -F 0 runs both directions: the driver has no backward alone
    return (
        f"{_base('pool', x)} {_options(**options, m=mode[problem.mode.name], F=int(problem.op == 'pooling_forward'))}"
    )


def _batch_norm(problem: Any, numbers: Numbers) -> str:
    x = problem.x
    names = "ncDHW" if len(x.dims) == 5 else "ncHW"
    options: dict[str, Any] = dict(zip(names, x.dims, strict=True))
    options["m"] = int(problem.mode.name == "SPATIAL")
    backward, inference = problem.op.endswith("backward"), problem.op.endswith("inference")
    options |= {"forw": 0 if backward else 2 if inference else 1, "b": int(backward)}
    options["s"] = int(getattr(problem, "saved_mean", None) is not None)
    options["r"] = int(inference or getattr(problem, "running_mean", None) is not None)
    options |= _layouts(layout=x)
    types = (DataType.FLOAT, DataType.HALF, DataType.BFLOAT16)
    base = _base("bnorm", x, types)
    mixed = problem.scale.dtype is DataType.FLOAT and x.dtype is not DataType.FLOAT
    return f"{base}{'fp32' if mixed else ''} {_options(**options)}"


@functools.cache
def _miopen_numbers(name: str) -> dict[str, int]:
    """Return MIOpen's numbers of the members of an enumeration of portadnn."""
    for enumeration in table().enumerations:
        if enumeration.portadnn == name:
            pairs = ((v.portadnn, v.miopen_number) for v in enumeration.values)
            return {ours: number for ours, number in pairs if ours and number is not None}
    return {}


def _number(member: Any) -> int:
    found = _miopen_numbers(type(member).__name__).get(member.name)
    if found is None:
        raise NoLine(f"MIOpen has no {member.name}")
    return found


def _activ(problem: Any, numbers: Numbers) -> str:
    alpha = {"CLIPPED_RELU": problem.ceiling, "ELU": problem.coef}.get(problem.mode.name, 1.0)
    options = {**_image(problem.x), "m": _number(problem.mode), "forw": _direction(problem)}
    return f"{_base('activ', problem.x)} {_options(**options, A=float(alpha), B=1.0, G=1.0)}"


def _softmax(problem: Any, numbers: Numbers) -> str:
    spec = problem.x if problem.op == "softmax_forward" else problem.dx
    options = {**_image(spec), "F": _direction(problem), "a": _number(problem.algorithm), "m": _number(problem.mode)}
    return f"{_base('softmax', spec)} {_options(**options, A=numbers['alpha'], B=numbers['beta'])}"


def _lrn(problem: Any, numbers: Numbers) -> str:
    options = {**_image(problem.x), "m": "cross", "N": problem.lrn_n, "A": problem.lrn_alpha, "B": problem.lrn_beta}
    return f"{_base('lrn', problem.x)} {_options(**options, K=problem.lrn_k, F=_direction(problem))}"


def _rnn(problem: Any, numbers: Numbers) -> str:
    mode = problem.mode.name.removeprefix("RNN_").lower()
    network, sequence = problem.network, problem.sequence
    batches = sequence.batches if problem.batch_sizes else sequence.batches[:1]
    options: dict[str, Any] = {"n": ",".join(map(str, batches)), "W": network.features, "H": problem.hidden_size}
    options |= {"l": problem.num_layers, "b": 1, "m": mode, "p": int(problem.input_mode), "r": int(problem.direction)}
    options |= {"q": 0, "k": len(sequence.batches)}
    if "forward" in problem.op:
        options["c"] = int(problem.op.endswith("inference"))
    options["F"] = {"data": 2, "weights": 4}.get(problem.op.rpartition("_")[2], 1)
    options |= {"t": 1, "w": 1}
    if problem.dropout:
        options |= {"U": 1, "P": problem.dropout}
    return f"{_base('rnn', problem.data)} {_options(**options)}"


def _dropout(problem: Any, numbers: Numbers) -> str:
    spec = problem.x if problem.op == "dropout_forward" else problem.dy
    if len(spec.dims) > 5:
        raise NoLine(f"{len(spec.dims)} dims")
    options = {"F": _direction(problem), "d": ",".join(map(str, spec.dims)), "p": problem.dropout}
    return f"{_base('dropout', spec)} {_options(**options)}"


def _tensor_op(problem: Any, numbers: Numbers) -> str:
    spec = problem.tensors[-1]
    base = _base("tensorop", spec)
    if problem.op == "set_tensor":
        return f"{base} {_options(**_image(spec), o=0, v=numbers['value'])}"
    if problem.op == "scale_tensor":
        return f"{base} {_options(**_image(spec), o=1, v=numbers['alpha'])}"
    if problem.op != "op_tensor" or problem.b.dims != problem.c.dims:
        raise NoLine("the driver broadcasts nothing")
    scale = {"A": numbers["alpha1"], "B": numbers["alpha2"], "G": numbers["beta"]}
    return f"{base} {_options(**_image(spec), **scale, o=2 + _number(problem.operation))}"


def _reduce(problem: Any, numbers: Numbers) -> str:
    a, c = problem.a, problem.c
    reduced = [str(i) for i, (p, q) in enumerate(zip(a.dims, c.dims, strict=True)) if q == 1 != p]
    compute = problem.compute_type or a.dtype.accumulator
    options: dict[str, Any] = {"A": numbers["alpha"], "B": numbers["beta"], "C": _number(compute)}
    options |= {"D": ",".join(map(str, a.dims)), "R": ",".join(reduced) or "0"}
    options |= {
        "O": _number(problem.operation),
        "N": int(problem.nan_propagation),
        "I": int(problem.indices is not None),
    }
    return f"{_base('reduce', a, (DataType.FLOAT, DataType.HALF, DataType.DOUBLE))} {_options(**options)}"


_WRITERS: dict[str, Callable[[Any, Numbers], str]] = {
    "convolution_forward": _conv,
    "convolution_backward_data": _conv,
    "convolution_backward_filter": _conv,
    "pooling_forward": _pool,
    "pooling_backward": _pool,
    "activation_forward": _activ,
    "activation_backward": _activ,
    "batch_normalization_forward_training": _batch_norm,
    "batch_normalization_forward_inference": _batch_norm,
    "batch_normalization_backward": _batch_norm,
    "softmax_forward": _softmax,
    "softmax_backward": _softmax,
    "lrn_cross_channel_forward": _lrn,
    "lrn_cross_channel_backward": _lrn,
    "rnn_forward_inference": _rnn,
    "rnn_forward_training": _rnn,
    "rnn_backward_data": _rnn,
    "rnn_backward_weights": _rnn,
    "dropout_forward": _dropout,
    "dropout_backward": _dropout,
    "op_tensor": _tensor_op,
    "set_tensor": _tensor_op,
    "scale_tensor": _tensor_op,
    "reduce_tensor": _reduce,
}


def driver_line(problem: Problem, numbers: Numbers) -> str:
    """Return the command line for a problem, or a comment that says why there is none."""
    writer = _WRITERS.get(problem.op)
    try:
        if writer is None:
            raise NoLine("the driver has no such operation")
        line = f"{PROGRAM} {writer(problem, numbers)}"
    except NoLine as error:
        return f"# {problem}: {error}"
    lost = []
    strided = [
        n for n, t in zip(problem.names, problem.tensors, strict=True) if n not in problem.raw and t.format is None
    ]
    if strided:
        lost.append(f"strides of {', '.join(strided)}")
    if not problem.op.startswith(_BLENDED):
        usual = problem.scalars
        lost += [f"{name}={value:g}" for name, value in numbers.items() if value != usual[name] and name != "epsilon"]
    return f"{line}  # without {', '.join(lost)}" if lost else line


def driver_lines(recording: Recording) -> Iterator[str]:
    """Yield the command lines of the problems that a recording's calls computed, in order.

    Raises
    ------
    BadParam
        A call's line is no problem.
    """
    for event in recording.events:
        if event.status == "SUCCESS" and not (event.inside and event.library == "portadnn"):
            for step in event.steps:
                try:
                    problem = problem_of(step.problem)
                except DnnError as error:
                    raise BadParam(f"call {event.number} of the recording: {error}") from None
                if problem.op != "set_dropout_descriptor":
                    yield driver_line(problem, dict(zip(problem.scalars, step.scalars, strict=False)))
