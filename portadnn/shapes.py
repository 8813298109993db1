"""Output sizes: the formulas of the guide, in one place for every backend, the tests and the docs."""

from __future__ import annotations

from .errors import BadParam


def window_output(size: int, window: int, pad: int, stride: int, dilation: int = 1) -> int:
    """Return how many places a window has along one dimension (guide sections 4.36 and 4.73).

    ``1 + (size + 2 * pad - ((window - 1) * dilation + 1)) // stride``; below 1 where the window does not fit.
    """
    return 1 + (size + 2 * pad - ((window - 1) * dilation + 1)) // stride


def check_spatial(dims: tuple[int, ...], argument: str, name: str, **values: tuple[int, ...]) -> None:
    """Check the parameters of a window over tensors of `dims`, as the descriptors do for theirs.

    Parameters
    ----------
    argument
        Name of the descriptor, for messages.
    name
        Name of the tensor whose dims are given.
    values
        ``padding``, which may be 0, and others that may not, one number per spatial dimension.

    Raises
    ------
    BadParam
        Fewer than 3 dims, another number of values than spatial dims, or a value that is too small.
    """
    if len(dims) < 3:
        raise BadParam(argument=f"{name}.dims", expected="3 to 8 dims", got=dims)
    for key, numbers in values.items():
        if len(numbers) != len(dims) - 2:
            raise BadParam(
                argument=f"{argument}.{key}",
                expected=f"{len(dims) - 2} values, as {name} has {len(dims)} dims",
                got=numbers,
            )
        least = 0 if key == "padding" else 1
        if min(numbers) < least:
            raise BadParam(argument=f"{argument}.{key}", expected=f"integers >= {least}", got=numbers)


def convolution_output_dims(
    x: tuple[int, ...],
    w: tuple[int, ...],
    padding: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    names: tuple[str, str] = ("x", "w"),
) -> tuple[int, ...]:
    """Return the dims (n, k, [o,] p, q) of a convolution (guide section 4.39).

    Parameters
    ----------
    names
        What the call names x and w, for messages.

    Raises
    ------
    BadParam
        Numbers of dimensions or channels do not match, or the filter is larger than the padded input.
    """
    name_x, name_w = names
    if len(w) != len(x):
        raise BadParam(argument=f"{name_w}.dims", expected=f"{len(x)} dims as {name_x}", got=w)
    check_spatial(x, "conv", name_x, padding=padding, stride=stride, dilation=dilation)
    if groups < 1:
        raise BadParam(argument="conv.groups", expected="an integer >= 1", got=groups)
    if x[1] != w[1] * groups:
        raise BadParam(
            f"{name_x} has {x[1]} channels, {name_w} expects {w[1] * groups} ({name_w}.dims[1] * groups)",
            argument=f"{name_x}.dims[1]",
        )
    if w[0] % groups:
        raise BadParam(argument=f"{name_w}.dims[0]", expected=f"a multiple of groups ({groups})", got=w[0])
    spatial = []
    for axis, (size, window, pad, step, dil) in enumerate(
        zip(x[2:], w[2:], padding, stride, dilation, strict=True), start=2
    ):
        if window < 1:
            raise BadParam(argument=f"{name_w}.dims[{axis}]", expected="a filter size >= 1", got=window)
        if size + 2 * pad < (window - 1) * dil + 1:
            raise BadParam(
                argument=f"{name_w}.dims[{axis}]",
                expected=f"a dilated filter no larger than the padded input ({size + 2 * pad})",
                got=(window - 1) * dil + 1,
            )
        spatial.append(window_output(size, window, pad, step, dil))
    return (x[0], w[0], *spatial)


def pooling_output_dims(
    x: tuple[int, ...], window: tuple[int, ...], padding: tuple[int, ...], stride: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the dims (n, c, [o,] p, q) of a pooling (guide section 4.74).

    Raises
    ------
    BadParam
        Numbers of dimensions do not match, or the window is larger than the padded input.
    """
    check_spatial(x, "pooling", "x", window=window, padding=padding, stride=stride)
    spatial = []
    for axis, (size, win, pad, step) in enumerate(zip(x[2:], window, padding, stride, strict=True)):
        if size + 2 * pad < win:
            raise BadParam(
                argument=f"pooling.window[{axis}]",
                expected=f"a window no larger than the padded input ({size + 2 * pad})",
                got=win,
            )
        spatial.append(window_output(size, win, pad, step))
    return (*x[:2], *spatial)
