"""MIOpenDriver's lines of MIOpen's younger operations, read as problem lines.

Options and defaults are those of driver/*_driver.hpp. The driver takes tensors of any number of dims. Problems have 3
or more: ones follow.
"""

from __future__ import annotations

from ..errors import NotSupported
from .form import Options, directions, tensor_text

Dims = tuple[int, ...]


def _dims(options: Options, letter: str, default: str) -> Dims:
    return tuple(int(size) for size in options.get(letter, default).split("x"))


def _wide(dims: Dims) -> Dims:
    return dims + (1,) * (3 - len(dims))


def _ways(options: Options) -> list[str]:
    """Return the directions; without an option the forward one."""
    return directions({"F": options.get("F", "1")}, {1: "forward", 2: "backward"})


def glu(options: Options, t: str) -> list[str]:
    """Read gated linear units: without ``-F 1`` the driver runs both directions."""
    x = tensor_text(t, _wide(_dims(options, "D", "256x512")))
    ways = ("forward", "backward") if int(options.get("F", "1")) != 1 else ("forward",)
    return [f"glu_{way} x={x} dim={int(options.get('R', '0'))}" for way in ways]


def rope(options: Options, t: str) -> list[str]:
    """Read rotary embeddings: the tables have the dims of the input but for the first."""
    dims = _dims(options, "X", "100x3x32x32")
    table = tensor_text(t, (1, *dims[1:]))
    names = {"forward": "x", "backward": "dy"}
    return [f"rope_{way} {names[way]}={tensor_text(t, dims)} cos={table} sin={table}" for way in _ways(options)]


def prelu(options: Options, t: str) -> list[str]:
    """Read PReLU, of which MIOpen has the gradients alone."""
    if "backward" not in _ways(options):
        raise NotSupported(argument="-F", expected="0 or 2, for the gradients", got=options.get("F", "1"))
    dims = _wide(_dims(options, "D", "256x4x1x1x8723"))
    x = tensor_text(t, dims)
    weight = tensor_text(t, (1, int(options.get("P", "1")), *(1,) * (len(dims) - 2)))
    return [f"prelu_backward x={x} weight={weight} dy={x} dx={x} dweight={weight}"]


def kthvalue(options: Options, t: str) -> list[str]:
    """Read the k-th smallest number."""
    dims, dim = _dims(options, "D", "256x4x2"), int(options.get("d", "-1"))
    place = dim + len(dims) if dim < 0 else dim
    return [f"kthvalue_forward x={tensor_text(t, _wide(dims))} k={int(options.get('k', '1'))} dim={place}"]


def soft_margin_loss(options: Options, t: str) -> list[str]:
    """Read the soft margin loss."""
    x = tensor_text(t, _wide(_dims(options, "D", "4x25x4x25")))
    rest = f"x={x} target={x} reduction={options.get('R', 'none')}"
    more = {"forward": "", "backward": f" dloss={x}"}
    return [f"soft_margin_loss_{way} {rest}{more[way]}" for way in _ways(options)]


def multi_margin_loss(options: Options, t: str) -> list[str]:
    """Read the multi-margin loss; the driver draws p, which is 1 here."""
    rows, classes = _dims(options, "D", "41x4")
    rest = f"target=i64:{rows} weight={tensor_text(t, (classes,))} reduction={options.get('R', 'none')}"
    return [f"multi_margin_loss_forward x={tensor_text(t, (rows, classes))} {rest} p=1"]


def normalization(options: Options, t: str) -> list[str]:
    """Read layernorm, groupnorm and t5layernorm, whose name is the option without a name."""
    name, mode = options[""], int(options.get("m", "0"))
    if name == "groupnorm":
        dims = tuple(int(options.get(*one)) for one in zip("ncDHW", ("32", "32", "14", "14", "14"), strict=True))
        dims = tuple(size for size in dims if size)
        small, rest = (1, dims[1], *(1,) * (len(dims) - 2)), f"mode=group_norm groups={int(options.get('g', '4'))}"
    else:
        given = _dims(options, "X", "100x3x32x32")
        axis = len(given) - 1 if name == "t5layernorm" else int(options.get("o", "3"))
        dims = _wide(given)
        small, rest = (*(1,) * axis, *dims[axis:]), f"mode=layer_norm axis={axis}"
    x, scale = tensor_text(t, dims), tensor_text("f64" if t == "f64" else "f32", small)
    if name != "t5layernorm":
        return [f"normalization_forward x={x} {f'scale={scale} bias={scale} ' if mode == 1 else ''}{rest}"]
    rest = rest.replace("layer_norm", "rms_norm")
    forward, backward = (f"scale={scale} ", f"scale={scale} dscale={scale} ") if mode == 6 else ("", "")
    found = {"forward": f"x={x} {forward}{rest}", "backward": f"x={x} dy={x} {backward}{rest}"}
    return [f"normalization_{way} {found[way]}" for way in _ways({"F": options.get("F", "0")})]
