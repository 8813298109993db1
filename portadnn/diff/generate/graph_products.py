"""Nodes of random graphs that are products, windows and normalisations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...graph.enums import convolution_mode, norm_forward_phase, padding_mode, resample_mode
from ...graph.layout import Dims
from .graph_draw import NORMAL, Drawing, Value

EPSILON = 0.125
LARGE = 1e3  # about what gradients of normalisations and the like grow to


class ProductNodes(Drawing):
    """Products and windows."""

    def matmul(self, x: Value | None = None) -> None:
        """Multiply a tensor, as either matrix; batch dims are broadcast."""
        x = x or self.any(self.draws.choice((2, 3, 3, 4)))
        batch = tuple(1 if self.draws.one_in(3) else d for d in x.dims[:-2])
        other = self.draws.few(33)
        inner, right = (x.dims[-1], True) if self.draws.one_in(2) else (x.dims[-2], False)
        y = self.fit((*batch, inner, other) if right else (*batch, other, inner))
        size = x.size * y.size * math.sqrt(inner)
        self.node("matmul", {"A": x, "B": y} if right else {"A": y, "B": x}, size=size)

    def _geometry(self, spatial: tuple[int, ...], even: bool) -> tuple[tuple[int, ...], dict[str, Any]]:
        """Return a filter's spatial dims that fit, and the attributes; `even`: padded alike at both ends."""
        window: list[int] = []
        how: dict[str, list[int]] = {name: [] for name in ("pre_padding", "post_padding", "stride", "dilation")}
        for size in spatial:
            pre = self.draws.integers(3)
            post = pre if even else self.draws.integers(3)
            reach = min(self.draws.few(5), size + pre + post)
            dilation = 2 if self.draws.one_in(4) and 2 * (reach - 1) + 1 <= size + pre + post else 1
            window.append(reach)
            for name, value in zip(how, (pre, post, self.draws.few(3), dilation), strict=True):
                how[name].append(value)
        mode = convolution_mode.CONVOLUTION if self.draws.one_in(6) else convolution_mode.CROSS_CORRELATION
        return tuple(window), {**how, "convolution_mode": mode}

    def _convolution(self, x: Dims, even: bool = False) -> tuple[Dims, Dims, dict[str, Any]]:
        """Return the dims of a filter and of the result, and the attributes, of a convolution of an image."""
        window, how = self._geometry(x[2:], even)
        groups = self.draws.choice([g for g in (1, 1, 2, 3, x[1]) if x[1] % g == 0])
        w = (groups * self.draws.few(max(2, 12 // groups)), x[1] // groups, *window)
        rows = zip(x[2:], window, how["pre_padding"], how["post_padding"], how["stride"], how["dilation"], strict=True)
        sizes = [1 + (d + a + b - e * (r - 1) - 1) // s for d, r, a, b, s, e in rows]
        return w, (x[0], w[0], *sizes), how

    def conv(self, x: Value | None = None) -> None:
        """Add a convolution of a tensor."""
        even = x is not None and not self.draws.one_in(6)
        x = x or self.any(self.draws.choice((3, 4, 4, 4, 5)))
        dims, _, how = self._convolution(x.dims, even)
        w = self.fit(dims)
        self.node("conv_fprop", {"X": x, "W": w}, how, size=x.size * w.size * math.sqrt(math.prod(dims[1:])))

    def conv_gradient(self, x: Value | None = None, make: Callable[[Dims], Value] | None = None) -> None:
        """Add a gradient of a convolution, or a filter's of an image `x`; `make` makes the result's gradient."""
        image = x.dims if x else self.dims(self.draws.choice((3, 4, 4, 5)), 17)
        w, y, how = self._convolution(image, x is not None and not self.draws.one_in(6))
        dy, size = (make or self.fit)(y), 20 * math.sqrt(math.prod(w[1:]))
        if x is None and self.draws.one_in(2):
            self.node("conv_dgrad", {"DY": dy, "W": self.fit(w)}, how, dims={"DX": image}, size=size * dy.size)
        else:
            self.node("conv_wgrad", {"X": x or self.fit(image), "DY": dy}, how, dims={"DW": w}, size=LARGE)

    def pool(self) -> None:
        """Add a pooling, with the places of maxima now and then, and a gradient by these."""
        mode = self.draws.choice(
            (resample_mode.MAXPOOL, resample_mode.AVGPOOL_INCLUDE_PADDING, resample_mode.AVGPOOL_EXCLUDE_PADDING)
        )
        indexed = mode is resample_mode.MAXPOOL and self.draws.one_in(3)
        x = self.any(self.draws.choice((4, 4, 5)), exact=indexed)
        how = {"mode": mode, **self._windows(x.dims[2:])}
        options: dict[str, Any] = {"types": {"INDEX": self.draws.choice(("INT32", "INT8"))}, "hidden": ("INDEX",)}
        made = self.node("resample", {"X": x}, {**how, "generate_index": indexed}, size=x.size, **options)
        if "INDEX" in made and self.draws.one_in(2):
            inputs = {"DY": self.fit(made["Y"].dims), "INDEX": made["INDEX"]}
            self.node("resample_backward", inputs, how, dims={"DX": x.dims}, size=4 * NORMAL)

    def _windows(self, spatial: tuple[int, ...]) -> dict[str, Any]:
        window = [min(self.draws.few(4), size) for size in spatial]
        pads = [[self.draws.integers(size) for size in window] for _ in range(2)]
        stride = [self.draws.few(3) for _ in window]
        return {"window": window, "pre_padding": pads[0], "post_padding": pads[1], "stride": stride}

    def pool_gradient(self) -> None:
        """Add a gradient of a pooling."""
        x = self.any(self.draws.choice((4, 4, 5)), exact=True)
        how = self._windows(x.dims[2:])
        rows = zip(x.dims[2:], how["window"], how["pre_padding"], how["post_padding"], how["stride"], strict=True)
        y = (*x.dims[:2], *(1 + (d + a + b - r) // s for d, r, a, b, s in rows))
        mode = self.draws.choice(
            (resample_mode.MAXPOOL, resample_mode.AVGPOOL_INCLUDE_PADDING, resample_mode.AVGPOOL_EXCLUDE_PADDING)
        )
        self.node("resample_backward", {"DY": self.fit(y), "X": x}, {"mode": mode, **how}, size=4 * NORMAL)

    def interpolate(self) -> None:
        """Make more pixels, or fewer."""
        x = self.any(self.draws.choice((4, 4, 5)))
        axes = len(x.dims) - 2
        if self.draws.one_in(2):
            steps = [self.draws.choice((0.5, 0.5, 0.75, 1.5, "1/3")) for _ in range(axes)]
            how = {"window": [2] * axes, "stride": steps, "pre_padding": [0.5] * axes, "post_padding": [1] * axes}
            mode = {"mode": resample_mode.BILINEAR, "padding_mode": padding_mode.EDGE_VAL_PAD}
        else:
            how = {"window": [1] * axes, "stride": [self.draws.choice((0.5, 2, "2/3")) for _ in range(axes)]}
            mode = {"mode": resample_mode.NEAREST}
        self.node("resample", {"X": x}, {**mode, **how}, size=x.size)


class NormNodes(Drawing):
    """Normalisations."""

    def _phase(self) -> dict[str, Any]:
        training = self.draws.one_in(2)
        return {"phase": norm_forward_phase.TRAINING if training else norm_forward_phase.INFERENCE}

    def _rows(self, kind: str, x: Dims) -> tuple[Dims, Dims]:
        """Return the dims of parameters and of statistics of a normalisation over the last axes."""
        axis = self.draws.integers(1, len(x)) if len(x) > 1 else 0
        scale = (*(1,) * axis, *x[axis:])
        if kind == "adalayernorm":
            scale = (x[0], *scale[1:])
        return scale, (*x[:axis], *(1,) * (len(x) - axis))

    def norm(self, kinds: tuple[str, ...] = ("layernorm", "rmsnorm", "adalayernorm")) -> None:
        """Normalise over the last axes."""
        kind = self.draws.choice(kinds)
        x = self.any(self.draws.choice((2, 3, 4)))
        scale, _ = self._rows(kind, x.dims)
        inputs: dict[str, Any] = {"X": x, "SCALE": self.statistic(scale), "EPSILON": EPSILON}
        if kind == "layernorm" or self.draws.one_in(2):
            inputs["BIAS"] = self.statistic(scale)
        self.node(kind, inputs, self._phase(), size=2 * NORMAL * NORMAL)

    def layernorm(self) -> None:
        """Add a layer normalisation."""
        self.norm(("layernorm",))

    def norm_gradient(self) -> None:
        """Add the gradients of a normalisation over the last axes."""
        kind = self.draws.choice(("layernorm", "rmsnorm", "adalayernorm"))
        x = self.any(self.draws.choice((2, 3, 4)))
        scale, statistics = self._rows(kind, x.dims)
        inputs = {"DY": self.fit(x.dims), "X": x, "SCALE": self.statistic(scale)}
        inputs["INV_VARIANCE"] = self.statistic(statistics)
        if kind != "rmsnorm":
            inputs["MEAN"] = self.statistic(statistics)
        more = {"has_dbias": self.draws.one_in(2)} if kind == "rmsnorm" else {}
        self.node(f"{kind}_backward", inputs, more, size=LARGE)

    def _running(self, dims: Dims) -> dict[str, Any]:
        """Return running statistics, and the number that they go on with."""
        names = ("PREV_RUNNING_MEAN", "PREV_RUNNING_VAR")
        return {**{name: self.statistic(dims) for name in names}, "MOMENTUM": 0.1}

    def batch(self) -> None:
        """Normalise each channel, or each image's channel."""
        x = self.any(self.draws.choice((3, 4, 4, 5)))
        c = (1, x.dims[1], *(1,) * (len(x.dims) - 2))
        if math.prod(x.dims) // x.dims[1] < 2:
            return
        given: dict[str, Any] = {"X": x, "SCALE": self.statistic(c), "BIAS": self.statistic(c)}
        which = self.draws.integers(4)
        if which == 0:
            given |= {"MEAN": self.statistic(c), "INV_VARIANCE": self.statistic(c)}
            self.node("batchnorm_inference", given, size=LARGE)
        elif which == 1:
            self.node("instancenorm", {**given, "EPSILON": EPSILON}, self._phase(), size=2 * NORMAL * NORMAL)
        else:
            given["EPSILON"] = EPSILON
            if which == 2:
                given |= self._running(c)
            self.node("batchnorm", given, size=2 * NORMAL * NORMAL)

    def batch_gradient(self) -> None:
        """Add the gradients of these."""
        x = self.any(self.draws.choice((3, 4, 4, 5)))
        kind = self.draws.choice(("batchnorm_backward", "instancenorm_backward", "dbn_weight"))
        c = (1, x.dims[1], *(1,) * (len(x.dims) - 2))
        rows = (x.dims[0], *c[1:]) if kind == "instancenorm_backward" else c
        inputs = {"DY": self.fit(x.dims), "X": x, "SCALE": self.statistic(c)}
        self.node(kind, {**inputs, "MEAN": self.statistic(rows), "INV_VARIANCE": self.statistic(rows)}, size=LARGE)

    def statistics(self, x: Value | None = None) -> None:
        """Sum each channel, and add what batch normalisation makes of the sums."""
        x = x or self.any(self.draws.choice((2, 3, 4, 5)))
        count = math.prod(x.dims) // x.dims[1]
        made = self.node("genstats", {"X": x}, size=x.size**2 * count)
        if not made or count < 2 or self.draws.one_in(2):
            return
        dims = made["SUM"].dims
        given = {**made, "SCALE": self.statistic(dims), "BIAS": self.statistic(dims), "EPSILON": EPSILON}
        self.node("bn_finalize", {**given, "ACCUM_COUNT": count, **self._running(dims)}, size=LARGE)
