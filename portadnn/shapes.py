"""Output sizes: the formulas of the guide, in one place for every backend, the tests and the docs."""

from __future__ import annotations

from .errors import BadParam


def window_output(size: int, window: int, pad: int, stride: int, dilation: int = 1) -> int:
    """Return how many places a window has along one dimension (guide sections 4.36 and 4.73).

    ``1 + (size + 2 * pad - ((window - 1) * dilation + 1)) // stride``; below 1 where the window does not fit.
    """
    return 1 + (size + 2 * pad - ((window - 1) * dilation + 1)) // stride


def convolution_output_dims(
    x: tuple[int, ...],
    w: tuple[int, ...],
    padding: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> tuple[int, ...]:
    """Return the dims (n, k, [o,] p, q) of a convolution (guide section 4.39).

    Raises
    ------
    BadParam
        Numbers of dimensions or channels do not match, or the filter is larger than the padded input.
    """
    if len(w) != len(x):
        raise BadParam(argument="w.dims", expected=f"{len(x)} dims as x", got=w)
    if len(padding) != len(x) - 2:
        raise BadParam(
            argument="conv", expected=f"{len(x) - 2} spatial dims for {len(x)}-D tensors", got=len(padding)
        )
    if x[1] != w[1] * groups:
        raise BadParam(f"x has {x[1]} channels, w expects {w[1] * groups} (w.dims[1] * groups)", argument="x.dims[1]")
    if w[0] % groups:
        raise BadParam(argument="w.dims[0]", expected=f"a multiple of groups ({groups})", got=w[0])
    spatial = []
    for axis, (size, window, pad, step, dil) in enumerate(
        zip(x[2:], w[2:], padding, stride, dilation, strict=True), start=2
    ):
        out = window_output(size, window, pad, step, dil)
        if window < 1:
            raise BadParam(argument=f"w.dims[{axis}]", expected="a filter size >= 1", got=window)
        if size + 2 * pad < (window - 1) * dil + 1:
            raise BadParam(
                argument=f"w.dims[{axis}]",
                expected=f"a dilated filter no larger than the padded input ({size + 2 * pad})",
                got=(window - 1) * dil + 1,
            )
        spatial.append(out)
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
    if len(window) != len(x) - 2:
        raise BadParam(
            argument="pooling", expected=f"{len(x) - 2} spatial dims for {len(x)}-D tensors", got=len(window)
        )
    spatial = []
    for axis, (size, win, pad, step) in enumerate(zip(x[2:], window, padding, stride, strict=True)):
        out = window_output(size, win, pad, step)
        if size + 2 * pad < win:
            raise BadParam(
                argument=f"pooling.window[{axis}]",
                expected=f"a window no larger than the padded input ({size + 2 * pad})",
                got=win,
            )
        spatial.append(out)
    return (*x[:2], *spatial)
