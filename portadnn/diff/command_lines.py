"""Problems from command lines of other test programs: MIOpenDriver's, and benchdnn's convolutions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from ..errors import BadParam, NotSupported, shown
from ..miopen_driver.form import tensor_text
from ..operation import operations
from ..problem import parse
from ..shapes import window_output

_DRIVER_TYPES = {"": "f32", "fp16": "f16", "bfp16": "bf16", "fp64": "f64", "fp32": "f32", "fp16fp32": "f16"}
_DRIVER_TYPES |= {"bfp16fp32": "bf16"}
_OPTION = re.compile(r"--?([A-Za-z_$!@#]\w*)=?(.*)")
_DIGIT = re.compile(r"-(\d)")


def is_driver_line(line: str) -> bool:
    """Tell whether a line calls MIOpenDriver."""
    return "MIOpenDriver" in line.partition("#")[0]


def from_driver_line(line: str) -> list[str]:
    """Return the problem lines of a command line of MIOpenDriver: one for each direction that it runs.

    Raises
    ------
    BadParam
        The line calls no driver that is known here, or its numbers make no problem.
    NotSupported
        portadnn has no such problem.
    """
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:  # an open quote
        raise BadParam(argument="line", expected="a call of MIOpenDriver", got=f"{line[:80]!r} ({error})") from None
    start = next((i for i, word in enumerate(words) if word.endswith("MIOpenDriver")), -1)
    if start < 0 or start + 1 >= len(words):
        raise BadParam(argument="line", expected="a call of MIOpenDriver", got=shown(line[:80]))
    match = re.fullmatch(r"([A-Za-z][A-Za-z0-9]*?)((?:b?fp\d+)*)", words[start + 1])
    known_drivers = [record.driver for record in operations().values() if record.driver]
    drivers = {name: driver for driver in known_drivers for name in (driver.name, *driver.also)}
    driver = drivers.get(match[1]) if match else None
    if match is None or driver is None or driver.read is None or match[2] not in _DRIVER_TYPES:
        known = ", ".join(name for name, one in drivers.items() if one.read)
        raise NotSupported(argument="driver", expected=f"{known}, in a float type", got=words[start + 1])
    try:
        options = {"": match[1], **_options(words[start + 2 :], driver.letters)}
        lines = driver.read(options, _DRIVER_TYPES[match[2]])
    except (ValueError, KeyError, ArithmeticError) as error:
        raise BadParam(argument="line", expected="whole numbers in options", got=f"{line[:80]!r} ({error})") from None
    return [str(parse(text)) for text in lines]


def _options(words: list[str], letters: Mapping[str, str]) -> dict[str, str]:
    """Return the values of options by letter, or by the long name of those that have none."""
    found: dict[str, str] = {}
    name, digits = "", {letter for letter in letters.values() if letter.isdigit()}
    for word in words:
        option, digit = _OPTION.fullmatch(word), _DIGIT.fullmatch(word)
        if digit and digit[1] in digits and found.get(name) != "":  # else the value of the option before it
            name = digit[1]
            found[name] = ""
        elif option:
            name = letters.get(option[1], option[1])
            found[name] = option[2]
        elif name:
            found[name] = word
    return found


# benchdnn

_BENCHDNN_OPS = {"FWD_D": "forward", "FWD_I": "forward", "FWD_B": "forward", "BWD_D": "backward_data"}
_BENCHDNN_OPS |= {"BWD_W": "backward_filter", "BWD_WB": "backward_filter"}
_BENCHDNN_TYPES = {"f32": "f32", "f16": "f16", "bf16": "bf16", "f64": "f64"}
_KEY = re.compile(r"(ic|id|ih|iw|oc|od|oh|ow|kd|kh|kw|sd|sh|sw|pd|ph|pw|dd|dh|dw|mb|g)(\d{1,18})")
_FALLBACKS = {"d": "hw", "h": "wd", "w": "hd"}


def is_benchdnn_line(line: str) -> bool:
    """Tell whether a line is a convolution of benchdnn: options, and a descriptor such as ``ic64ih56oc64kh3ph1``."""
    words = line.split()
    return bool(words) and all(w.startswith("--") or _descriptor(w) is not None for w in words) and "ic" in words[-1]


def _descriptor(word: str) -> dict[str, int] | None:
    """Return the numbers of a descriptor; None where it is none. ``_`` and the name behind ``n`` are left out."""
    text = re.sub(r"n\".*\"|n[a-zA-Z\"].*", "", word).replace("_", "")
    found = {match[1]: int(match[2]) for match in _KEY.finditer(text)}
    return found if found and _KEY.sub("", text) == "" else None


def from_benchdnn_line(line: str) -> str:
    """Return the problem line of a convolution as benchdnn writes it.

    What is left out follows as benchdnn has it: an axis of which nothing is said from its neighbour, the output from
    the padding or, where that is missing, the padding from the output. Dilation 0 means none.

    Raises
    ------
    BadParam
        It is no such line, or its numbers make no problem.
    NotSupported
        A type or padding that portadnn does not have.
    """
    words = line.split()
    keys = _descriptor(words[-1]) if words else None
    if keys is None or not {"ic", "oc"} <= keys.keys():
        raise BadParam(argument="line", expected="a descriptor such as mb1ic64ih56oc64kh3ph1", got=shown(line[:80]))
    given = dict(word.lstrip("-").partition("=")[::2] for word in words[:-1])
    dtype = given.get("dt", "f32").split(":")[0]
    direction = _BENCHDNN_OPS.get(given.get("dir", "FWD_D"))
    if dtype not in _BENCHDNN_TYPES or direction is None:
        raise NotSupported(argument="--dt, --dir", expected="a float type and a known direction", got=words[:-1])
    told = {key[1] for key in keys if key[0] in "iok" and key not in ("ic", "oc")}
    source = {axis: next((a for a in (axis, *_FALLBACKS[axis]) if a in told), axis) for axis in "dhw"}
    axes = "dhw" if any(key in keys for key in ("id", "od", "kd")) else "hw"

    def of(kind: str, axis: str, default: int) -> int:
        return keys.get(kind + source[axis], default)

    found: list[tuple[int, ...]] = []
    for axis in axes:
        size, tap, step, hole = of("i", axis, 0), of("k", axis, 1), of("s", axis, 1), of("d", axis, 0) + 1
        reach = (tap - 1) * hole + 1
        has_out = f"o{source[axis]}" in keys
        if step < 1:
            raise BadParam(argument=f"s{axis}", expected="a stride from 1 on", got=step)
        pad = of("p", axis, max(0, -(-((of("o", axis, 0) - 1) * step + reach - size) // 2)) if has_out else 0)
        result = window_output(size, tap, pad, step, hole)
        if has_out and of("o", axis, 0) != result:
            got = f"o{axis}{of('o', axis, 0)}, which needs another padding at the end"
            raise NotSupported(argument=f"p{axis}", expected=f"the same padding at both ends: o{axis}{result}", got=got)
        found.append((size, tap, step, pad, hole, result))
    sizes, taps, steps, pads, holes, out = zip(*found, strict=True)
    n, groups = keys.get("mb", 2), max(keys.get("g", 1), 1)
    t = _BENCHDNN_TYPES[dtype]
    dims = {
        "image": tensor_text(t, (n, keys["ic"], *sizes)),
        "filter": tensor_text(t, (keys["oc"], keys["ic"] // groups, *taps)),
        "result": tensor_text(t, (n, keys["oc"], *out)),
    }
    roles = {"forward": "x w y", "backward_data": "dx w dy", "backward_filter": "x dw dy"}[direction].split()
    tensors = " ".join(f"{name}={text}" for name, text in zip(roles, dims.values(), strict=True))
    rest = " ".join(
        f"{name}={','.join(map(str, v))}" for name, v in (("padding", pads), ("stride", steps), ("dilation", holes))
    )
    return str(parse(f"convolution_{direction} {tensors} {rest} groups={groups}"))
