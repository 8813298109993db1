"""Random graphs of up to a dozen nodes, over shapes, layouts, broadcasts and operations that kernels have.

``python tests/graph/random_graphs.py 0 1000 opencl`` compares a thousand of them on a backend with the definitions;
with ``fusion`` behind it, graphs that kernels are written for.
"""

from __future__ import annotations

import sys

import numpy as np
from graphs import new, numbers, run

import portadnn.graph as cudnn

UNARY = ("relu", "tanh", "sigmoid", "elu", "swish", "abs", "neg", "identity")
BINARY = ("add", "sub", "mul", "max", "min", "add_square")
KINDS = ("unary", "binary", "binary", "scalar", "gradient", "matmul", "conv", "reduce", "move", "norm", "pool")
FUSED_KINDS = ("unary", "unary", "written", "binary", "binary", "scalar", "gradient", "reduce", "norm", "soft")
WRITTEN = ("gelu", "gelu_approx_tanh", "softplus", "erf", "sin", "cos")  # without kernels of their own
MODES = [mode for mode in cudnn.reduction_mode if mode.name in ("ADD", "MIN", "MAX", "AMAX", "AVG", "NORM1", "NORM2")]


class Draw:
    """One graph under construction; the same decisions for every handle."""

    def __init__(self, handle, seed, kinds=KINDS):
        self.kinds = kinds
        self.rng = np.random.default_rng(seed)
        self.g = new(handle)
        self.inputs = []
        self.values = []  # (tensor, dims)

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def size(self, most=9):
        return int(self.rng.integers(1, most + 1))

    def input(self, dims):
        """Return a new input, in some order of the axes, now and then with gaps."""
        order = list(range(len(dims)))
        if self.rng.random() < 0.5:
            self.rng.shuffle(order)
        strides, step = [0] * len(dims), 1
        for axis in reversed(order):
            strides[axis] = step
            step *= dims[axis] + int(self.rng.random() < 0.1)
        one = self.g.tensor(dim=list(dims), stride=strides)
        self.inputs.append(one)
        return self.keep(one, dims)

    def keep(self, one, dims):
        self.values.append((one, tuple(dims)))
        return one

    def any(self, rank=None):
        """Return a tensor that is there already, or a new one."""
        fitting = [value for value in self.values if rank in (None, len(value[1]))]
        if fitting and self.rng.random() < 0.8:
            return self.pick(fitting)
        self.input([self.size() for _ in range(rank or self.pick([2, 3, 4]))])
        return self.values[-1]

    def node(self):
        getattr(self, self.pick(self.kinds))()

    def unary(self):
        x, dims = self.any()
        self.keep(getattr(self.g, self.pick(UNARY))(x), dims)

    def written(self):
        x, dims = self.any()
        self.keep(getattr(self.g, self.pick(WRITTEN))(x), dims)

    def soft(self):
        x, dims = self.any()
        self.keep(self.g.softmax(x, axis=int(self.rng.integers(len(dims))))[0], dims)

    def scalar(self):
        x, dims = self.any()
        self.keep(
            getattr(self.g, self.pick(("add", "mul", "sub", "max")))(x, float(self.rng.integers(-3, 4)) / 2), dims
        )

    def binary(self):
        x, dims = self.any()
        others = [value for value in self.values if value[1] == dims]
        if self.rng.random() < 0.5 and others:
            y = self.pick(others)[0]
        else:
            y = self.input([d if self.rng.random() < 0.6 else 1 for d in dims])
        pair = (x, y) if self.rng.random() < 0.7 else (y, x)
        self.keep(getattr(self.g, self.pick(BINARY))(*pair), dims)

    def gradient(self):
        x, dims = self.any()
        name = self.pick(("relu", "tanh", "sigmoid", "swish"))
        self.keep(getattr(self.g, f"{name}_backward")(self.input(dims), x), dims)

    def matmul(self):
        x, dims = self.any(self.pick([2, 3]))
        n = self.size()
        batch = [d if self.rng.random() < 0.7 else 1 for d in dims[:-2]]
        self.keep(self.g.matmul(x, self.input([*batch, dims[-1], n])), (*dims[:-1], n))

    def conv(self):
        x, dims = self.any(4)
        window = [min(self.size(3), d) for d in dims[2:]]
        pre, post = ([int(self.rng.integers(0, 2)) for _ in window] for _ in range(2))
        stride = [self.size(2) for _ in window]
        groups = self.pick([g for g in (1, 2, 3, dims[1]) if dims[1] % g == 0])
        k = groups * self.size(3)
        w = self.input([k, dims[1] // groups, *window])
        y = self.g.conv_fprop(x, w, pre_padding=pre, post_padding=post, stride=stride)
        sizes = [1 + (d + a + b - r) // s for d, a, b, r, s in zip(dims[2:], pre, post, window, stride, strict=True)]
        self.keep(y, (dims[0], k, *sizes))

    def pool(self):
        x, dims = self.any(4)
        window = [min(self.size(3), d) for d in dims[2:]]
        pads = [int(self.rng.integers(0, r)) for r in window]
        mode = self.pick([cudnn.resample_mode.MAXPOOL, cudnn.resample_mode.AVGPOOL_INCLUDE_PADDING])
        y, _ = self.g.resample(x, mode, window, pads, pads, window)
        sizes = [1 + (d + 2 * p - r) // r for d, p, r in zip(dims[2:], pads, window, strict=True)]
        self.keep(y, (*dims[:2], *sizes))

    def reduce(self):
        x, dims = self.any()
        out = [d if self.rng.random() < 0.5 else 1 for d in dims]
        self.keep(self.g.reduction(x, self.pick(MODES)).set_dim(out), out)

    def norm(self):
        x, dims = self.any()
        axis = int(self.rng.integers(1, len(dims)))
        if all(d == 1 for d in dims[axis:]):
            return
        scale = [*(1,) * axis, *dims[axis:]]
        s, b = self.input(scale), self.input(scale)
        y, _, _ = self.g.layernorm(cudnn.norm_forward_phase.INFERENCE, x, s, b, 0.125)
        self.keep(y, dims)

    def move(self):
        x, dims = self.any()
        how = self.pick(("transpose", "slice", "reshape", "concatenate"))
        if how == "transpose":
            order = [int(i) for i in self.rng.permutation(len(dims))]
            self.keep(self.g.transpose(x, order), [dims[i] for i in order])
        elif how == "slice":
            parts = [slice(int(self.rng.integers(0, d)), d, self.size(2)) for d in dims]
            self.keep(self.g.slice(x, parts), [len(range(*p.indices(d))) for p, d in zip(parts, dims, strict=True)])
        elif how == "reshape":
            flat = [1, int(np.prod(dims))]
            self.keep(self.g.reshape(x, reshape_mode=cudnn.reshape_mode.LOGICAL).set_dim(flat), flat)
        else:
            axis, more = int(self.rng.integers(len(dims))), self.size(3)
            other = self.input([more if i == axis else d for i, d in enumerate(dims)])
            self.keep(self.g.concatenate([x, other], axis), [d + more if i == axis else d for i, d in enumerate(dims)])


def evaluate(handle, seed, engine=None):
    """Draw a graph and return its results: of the nodes that nobody reads, and of some others.

    With an engine's name, on that engine; of the fusion engine also the graphs are others.
    """
    draw = Draw(handle, seed, FUSED_KINDS if engine == "fusion" else KINDS)
    if engine is not None:
        draw.g.deselect_engines([other for other in ("fusion", "regions", "fallback") if other != engine])
    for _ in range(int(draw.rng.integers(1, 13))):
        draw.node()
    nodes = draw.g._graph.nodes
    read = {id(one) for node in nodes for one in node.inputs.values()}
    made = [one for one, _ in draw.values if one.producer is not None]
    outs = [one for one in made if id(one) not in read or draw.rng.random() < 0.3]
    used = [one for one in draw.inputs if id(one) in read]
    draw.g._graph.declared[:] = used
    if not nodes:
        return []
    feeds = {one: numbers(one.get_dim(), 1000 * seed + i) / 2 for i, one in enumerate(used)}
    return run(draw.g, feeds, outs)


def compare(handle, seed, engine=None):
    """Return the largest error of a graph's results, relative to the largest number of each."""
    got, want = evaluate(handle, seed, engine), evaluate("reference", seed, engine)
    worst = 0.0
    for one, other in zip(got, want, strict=True):
        scale = max(float(np.abs(other).max()), 1e-3)
        if not np.isfinite(other).all() or scale > 1e6:
            continue
        worst = max(worst, float(np.abs(one - other).max()) / scale)
    return worst


if __name__ == "__main__":
    import portadnn as dnn

    with dnn.Handle(sys.argv[3] if len(sys.argv) > 3 else "opencl") as target:
        for number in range(int(sys.argv[1]), int(sys.argv[2])):
            error = compare(target, number, *sys.argv[4:])
            if not error < 1e-3:
                print(f"seed {number}: {error}")
