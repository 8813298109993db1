"""The logs of MIOpen: its API (MIOPEN_ENABLE_LOGGING) and its driver's command lines (MIOPEN_ENABLE_LOGGING_CMD)."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Iterator

from ...shapes import window_output
from ..values import UNKNOWN, items, known, unknown
from .records import Logged, Record, value_of

_PREFIX = r"MIOpen(?:\(\w+\))?(?:\s+[\d.]+)?:\s?"
HEADER = re.compile(rf"(?:{_PREFIX})?(?:const char ?\*|\w+) ?\*?\s*(miopen\w+)\(.*\) ?\{{\s*\Z")
COMMAND = re.compile(r"\[(LogCmd\w+)\] \S*MIOpenDriver(?:\.exe)? (.*)|^\S*MIOpenDriver(?:\.exe)? (\w+ .*)")
_LINE = re.compile(rf"(?:{_PREFIX})?")
_ARGUMENT = re.compile(r"\s*([\w.]+) = ?(.*?)\s*\Z")
_TYPES = {0: "miopenHalf", 1: "miopenFloat", 2: "miopenInt32", 3: "miopenInt8", 5: "miopenBFloat16", 6: "miopenDouble"}
_MODES = ("miopenConvolution", "miopenTranspose", "miopenGroupConv", "miopenDepthwise")
_POOLING = ("miopenPoolingMax", "miopenPoolingAverage", "miopenPoolingAverageInclusive")


class Reader:
    """Takes lines and gives a record whenever one has ended."""

    def __init__(self) -> None:
        self._record: Record | None = None

    def take(self, number: int, line: str) -> Iterator[Record]:
        """Read a line of the log, by its number in the file."""
        header = HEADER.search(line) if "miopen" in line and "{" in line else None
        if header:
            yield from self.end()
            self._record = Record(header[1], number)
            return
        command = COMMAND.search(line) if "MIOpenDriver" in line else None
        if command:
            yield from self.end()
            yield from _command(number, command[1] or "", command[2] or command[3])
            return
        record = self._record
        if record is None:
            return
        body = line[_LINE.match(line).end() :] if "MIOpen" in line[:12] else line  # type: ignore[union-attr]
        record.lines = number - record.line + 1
        if body.strip() == "}":
            yield from self.end(complete=True)
            return
        argument = _ARGUMENT.match(body)
        if argument:
            name, text = argument[1], argument[2]
            name = "dims" if name == "dim.values" else "strides" if name == "stride.values" else name
            record.arguments[name] = _logged(name, text)

    def end(self, complete: bool = False) -> Iterator[Record]:
        """Give the record that is being read, if any."""
        record, self._record = self._record, None
        if record is not None:
            record.complete = complete
            yield record


def _logged(name: str, text: str) -> Logged:
    if "Desc" in name:
        return _descriptor(name, text)
    if text.startswith("stream:"):
        return Logged(text, unknown(text, "miopenHandle_t"), "miopenHandle_t")
    value = value_of(text)
    if name == "dataType" and isinstance(value.data, int):
        return Logged(text, known(_TYPES.get(value.data, value.data), "miopenDataType_t"), "miopenDataType_t")
    return Logged(text, value)


def _descriptor(name: str, text: str) -> Logged:
    """Read what is printed of a descriptor: ``{24, 24, 3, 3}, {216, 9, 3, 1}, packed,`` and the older forms."""
    groups = re.findall(r"\{([^{}]*)\}", text)
    words = [word for word in re.sub(r"\{[^{}]*\}", "", text).replace(",", " ").split() if not word.isdigit()]
    fields: dict[str, Logged] = {}
    if "conv" in name.lower():
        if not groups:  # version 1: mode, padding mode, pads, strides, dilations
            numbers = [part.strip() for part in text.split(",") if part.strip()]
            if len(numbers) < 8:
                numbers = ["0", "0", *numbers]
            groups = [", ".join(numbers[i : i + 2]) for i in (2, 4, 6)]
            words = [_MODES[int(numbers[0])] if numbers[0] in ("0", "1", "2", "3") else numbers[0]]
        for field, group in zip(("padA", "strideA", "dilationA"), groups, strict=False):
            fields[field] = Logged(group, value_of(f"[{group}]"), "int[]")
        mode = next((word for word in words if word in _MODES), "")
        if mode:
            fields["mode"] = Logged(mode, known(mode), "miopenConvolutionMode_t")
        return Logged(text, UNKNOWN, "miopenConvolutionDescriptor_t", fields)
    if "pool" in name.lower():
        if len(groups) < 3 and not words:
            return Logged(text, value_of(text), "miopenPoolingDescriptor_t")
        mode = next((word for word in words if word in _POOLING), "")
        if mode:
            fields["mode"] = Logged(mode, known(mode), "miopenPoolingMode_t")
        return Logged(text, UNKNOWN, "miopenPoolingDescriptor_t", fields)
    if not groups and text.count(",") >= 2:
        groups = [text.strip().rstrip(",")]  # version 1: the lengths alone
    if groups and groups[0].strip():
        fields["dimA"] = Logged(groups[0], value_of(f"[{groups[0]}]"), "int[]")
        if len(groups) > 1:
            fields["strideA"] = Logged(groups[1], value_of(f"[{groups[1]}]"), "int[]")
        return Logged(text, UNKNOWN, "miopenTensorDescriptor_t", fields)
    return Logged(text, value_of(text), "miopenTensorDescriptor_t")


# The driver's command lines -------------------------------------------------------------------------------------

_LONG = {"batchsize": "n", "in_channels": "c", "in_h": "H", "in_w": "W", "out_channels": "k"}
_LONG |= {"fil_h": "y", "fil_w": "x"}
_LONG |= {"pad_h": "p", "pad_w": "q", "conv_stride_h": "u", "conv_stride_w": "v", "dilation_h": "l", "dilation_w": "j"}
_LONG |= {"forw": "F", "mode": "m", "group_count": "g", "pad_d": "$", "in_layout": "I", "spatial_dim": "_"}
_SUFFIXES = {"": "miopenFloat", "fp16": "miopenHalf", "bfp16": "miopenBFloat16", "int8": "miopenInt8"}
_DIRECTIONS = {1: "Forward", 2: "BackwardData", 4: "BackwardWeights"}


def _command(number: int, log: str, line: str) -> Iterator[Record]:
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    program, options = words[0], _options(words[1:])
    base = _PROGRAM.match(program)
    maker = _MAKERS.get(base[0]) if base else None
    if maker is None or base is None:
        yield Record(f"MIOpenDriver {program}", number, driver=True)
        return
    type_ = _SUFFIXES.get(program[base.end() :], "miopenFloat")
    for record in maker(options, type_, "Find" in log):
        record.line = number
        record.driver = True
        yield record


def _options(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if re.match(r"--?[A-Za-z_$!@#]", word):
            name, _, value = word.lstrip("-").partition("=")
            name = _LONG.get(name, name)
            found[name] = value
        elif name:
            found[name] = word
    return found


def _integer(options: dict[str, str], name: str, default: int) -> int:
    try:
        return int(options.get(name, default))
    except ValueError:
        return default


def _array(*numbers: int) -> Logged:
    return Logged(str(list(numbers)), items(map(known, numbers)), "int[]")


def _tensor(type_: str, *dims: int) -> Logged:
    fields = {"dataType": Logged(type_, known(type_), "miopenDataType_t"), "dimA": _array(*dims)}
    return Logged(f"{type_} {list(dims)}", UNKNOWN, "miopenTensorDescriptor_t", fields)


def _convolution(options: dict[str, str], type_: str, find: bool) -> Iterator[Record]:
    get = functools.partial(_integer, options)
    n, c, h, w = get("n", 100), get("c", 3), get("H", 32), get("W", 32)
    k, r, s, g = get("k", 32), get("y", 3), get("x", 3), max(get("g", 1), 1)
    pads, strides, dilations = (get("p", 0), get("q", 0)), (get("u", 1), get("v", 1)), (get("l", 1), get("j", 1))
    sizes = [
        window_output(size, filt, pad, max(stride, 1), dilation)
        for size, pad, dilation, filt, stride in zip((h, w), pads, dilations, (r, s), strides, strict=True)
    ]
    mode = "miopenTranspose" if options.get("m") == "trans" else "miopenConvolution"
    fields = {
        "mode": Logged(mode, known(mode), "miopenConvolutionMode_t"),
        "padA": _array(*pads),
        "strideA": _array(*strides),
        "dilationA": _array(*dilations),
        "groupCount": Logged(str(g), known(g), "int"),
    }
    conv = Logged(str(options), UNKNOWN, "miopenConvolutionDescriptor_t", fields)
    x, filt, y = _tensor(type_, n, c, h, w), _tensor(type_, k, c // g, r, s), _tensor(type_, n, k, *sizes)
    wanted = get("F", 0)
    for bit, direction in _DIRECTIONS.items():
        if wanted and not wanted & bit:
            continue
        name = f"miopenFindConvolution{direction}Algorithm" if find else f"miopenConvolution{direction}"
        tensors = {
            "Forward": {"xDesc": x, "wDesc": filt, "convDesc": conv, "yDesc": y},
            "BackwardData": {"dyDesc": y, "wDesc": filt, "convDesc": conv, "dxDesc": x},
            "BackwardWeights": {"dyDesc": y, "xDesc": x, "convDesc": conv, "dwDesc": filt},
        }[direction]
        yield Record(name, 0, arguments=dict(tensors))


def _pair(forward: str, backward: str) -> Callable[[dict[str, str], str, bool], Iterator[Record]]:
    def make(options: dict[str, str], type_: str, find: bool) -> Iterator[Record]:
        x = _tensor(type_, *(_integer(options, name, d) for name, d in (("n", 100), ("c", 3), ("H", 32), ("W", 32))))
        wanted = _integer(options, "F", 0)
        if wanted in (0, 1):
            yield Record(forward, 0, arguments={"xDesc": x})
        if wanted in (0, 2):
            yield Record(backward, 0, arguments={"xDesc": x})

    return make


def _younger(
    forward: str, backward: str = "", desc: str = "xDesc", gradient: str = ""
) -> Callable[[dict[str, str], str, bool], Iterator[Record]]:
    """Return what reads a younger operation: dims as ``-n 2 -c 3 ...`` or as ``-X 2x3x4``, or none that are known."""

    def make(options: dict[str, str], type_: str, find: bool) -> Iterator[Record]:
        dims = [_integer(options, name, 0) for name in "ncDHW" if name in options and "c" in options]
        if not dims and re.fullmatch(r"\d{1,40}(x\d{1,40})*", listed := options.get("X", options.get("D", ""))):
            dims = [int(size) for size in listed.split("x")]
        wanted = _integer(options, "F", 0)
        for bit, name, tensor in ((1, forward, desc), (2, backward, gradient or desc)):
            if name and (wanted in (0, bit) or not (forward and backward)):
                arguments = {tensor: _tensor(type_, *filter(None, dims))} if any(dims) else {}
                yield Record(name, 0, arguments=arguments)

    return make


_MAKERS: dict[str, Callable[[dict[str, str], str, bool], Iterator[Record]]] = {
    "conv": _convolution,
    "pool": _pair("miopenPoolingForward", "miopenPoolingBackward"),
    "lrn": _pair("miopenLRNForward", "miopenLRNBackward"),
    "activ": _pair("miopenActivationForward", "miopenActivationBackward"),
    "softmax": _pair("miopenSoftmaxForward_V2", "miopenSoftmaxBackward_V2"),
    "bnorm": _pair("miopenBatchNormalizationForwardTraining", "miopenBatchNormalizationBackward"),
    "rnn": _pair("miopenRNNForwardTraining", "miopenRNNBackwardData"),
    "dropout": _pair("miopenDropoutForward", "miopenDropoutBackward"),
    "layernorm": _younger("miopenLayerNormForward"),
    "addlayernorm": _younger("miopenAddLayerNormForward"),
    "groupnorm": _younger("miopenGroupNormForward"),
    "t5layernorm": _younger("miopenT5LayerNormForward", "miopenT5LayerNormBackward"),
    "kthvalue": _younger("miopenKthvalueForward", desc="inputDesc"),
    "rope": _younger("miopenRoPEForward", "miopenRoPEBackward", "xDesc", "dyDesc"),
    "prelu": _younger("", "miopenPReLUBackward", "inputDesc"),
    "glu": _younger("miopenGLUForward", "miopenGLUBackward", "inputDesc"),
    "getitem": _younger("", "miopenGetitemBackward", "dyDesc"),
    "cat": _younger("miopenCatForward", desc="yDesc"),
    "softmarginloss": _younger("miopenSoftMarginLossForward", "miopenSoftMarginLossBackward", "inputDesc"),
    "multimarginloss": _younger("miopenMultiMarginLossForward", desc="inputDesc"),
    "reducecalculation": _younger("miopenReduceCalculationForward"),
    "reduceextreme": _younger("miopenReduceExtremeForward"),
    **dict.fromkeys(("adam", "adamw", "ampadam", "ampadamw"), _younger("miopenFusedAdam", desc="paramDesc")),
    "transformersadamw": _younger("miopenTransformersAdamW", desc="paramDesc"),
}
_PROGRAM = re.compile("|".join(sorted(_MAKERS, key=len, reverse=True)))  # behind which the type of the data stands
