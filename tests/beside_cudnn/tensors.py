"""Programs of tensors: transforms between types and layouts, padding and folding, reductions with indices."""

from __future__ import annotations

import math

import numpy as np

from .layouts import NUMPY, drawn, laid
from .sides import Side

SIZES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def converted(side: Side) -> None:
    """cudnnTransformTensor between types and layouts."""
    draw = side.draw
    kinds = ("FLOAT", "HALF", "DOUBLE", "INT8", "UINT8", "INT32", "INT8x4", "UINT8x4", "INT8x32")
    most = draw.choice((4, 4, 4, 7))
    source, dest = draw.choice(kinds[:most]), draw.choice(kinds[:most])
    if draw.random() < 0.1:
        source, dest = draw.choice(kinds), draw.choice(kinds)
    if {"INT8x32", "INT32", "UINT8", "UINT8x4"} & {source, dest}:
        side.tag("conversion")
    dims = draw.randint(1, 3), draw.choice((4, 8)), draw.randint(1, 5), draw.randint(1, 5)
    if "INT8x32" in (source, dest):
        dims = dims[0], 32, *dims[2:]
    layouts = [2 if "x" in kind else draw.choice((0, 1)) for kind in (source, dest)]
    alpha, beta = draw.choice((1, 1, 0.5, 2)), draw.choice((0, 0, 0, 1, 0.5))
    # to DOUBLE, from another type that lies alike, the library reads FLOAT
    alike = (layouts[0] == layouts[1] or dims[2:] == (1, 1)) and source != "DOUBLE"
    scale = "float64" if "DOUBLE" in (source, dest) and not alike else "float32"
    x, prior = drawn(side, source, dims), drawn(side, dest, dims)
    given = side.put(laid(x, source, layouts[0]), "x")
    out = side.put(laid(prior, dest, layouts[1]), "y", output=True)
    descs = side.tensor(source, dims, layouts[0]), side.tensor(dest, dims, layouts[1])
    first, last = side.host(alpha, scale), side.host(beta, scale)
    side.call("cudnnTransformTensor", side.handle, first, descs[0], given, last, descs[1], out)
    side.output("y", side.read(out, NUMPY[dest]), length=2)


def _settings(side: Side, dims: tuple[int, ...], fold_at_all: bool) -> tuple[int, tuple, tuple, tuple, int]:
    draw, count = side.draw, len(dims)
    before, after = ([draw.choice((0, 0, 0, 1, 2)) for _ in dims] for _ in range(2))
    fold = tuple(draw.choice((1, 1, 2, 3)) for _ in dims[2:]) if fold_at_all else (1,) * (count - 2)
    before[0] = after[0] = 0
    if draw.random() < 0.7:
        before[1] = after[1] = 0
    if max(fold) > 1 and draw.random() < 0.9:  # folds whole blocks
        for i, f in enumerate(fold):
            after[2 + i] += -(dims[2 + i] + before[2 + i] + after[2 + i]) % f
    return draw.choice((0, 0, 0, 1)), tuple(before), tuple(after), fold, 0


def folded(side: Side) -> None:
    """cudnnTransformTensorEx with padding and folding, into what cudnnInitTransformDest says."""
    draw = side.draw
    kind, count = draw.choice(("FLOAT", "FLOAT", "HALF", "INT8", "DOUBLE")), draw.choice((4, 4, 4, 5))
    dims = draw.randint(1, 2), draw.randint(1, 4), *(draw.randint(2, 6) for _ in range(count - 2))
    layout, before, after, fold, direction = _settings(side, dims, draw.random() < 0.6)
    setting = count, layout, before, after, fold, direction
    transform = side.descriptor("TensorTransform", "cudnnSetTensorTransformDescriptor", *setting)
    source, dest = side.tensor(kind, dims), side.created("Tensor")
    nbytes = side.call("cudnnInitTransformDest", transform, source, dest)
    found = side.call("cudnnGetTensorNdDescriptor", dest, 8)
    side.output("descriptor", [nbytes, int(found[0]), found[1], *found[2][:count], *found[3][:count]])
    size = math.prod(found[2][:count])
    dtype = np.dtype(NUMPY[kind])
    x = side.put(laid(drawn(side, kind, dims), kind), "x")
    out = side.put(side.rng.integers(-40, 40, size).astype(dtype), "y", output=True)
    alpha, beta = draw.choice((1, 2)), draw.choice((0, 0, 0, 1))
    if beta and max(fold) > 1:
        side.tag("beta of folds")
    scale = "float64" if kind == "DOUBLE" else "float32"
    numbers = side.host(alpha, scale), side.host(beta, scale)
    side.call("cudnnTransformTensorEx", side.handle, transform, numbers[0], source, x, numbers[1], dest, out)
    side.output("y", side.read(out, dtype), length=2)


def filters(side: Side) -> None:
    """cudnnTransformFilter between layouts and types."""
    draw = side.draw
    source, dest = draw.choice((*(("FLOAT", "FLOAT"), ("HALF", "HALF"), ("FLOAT", "INT8"), ("FLOAT", "HALF")) * 3,
                                ("INT8", "INT8x4"), ("INT8", "INT8x32"), ("FLOAT", "INT8x4")))  # fmt: skip
    if "x" in dest:
        side.tag("filters of vectors")
    unit = 32 if "x32" in dest else 4
    dims = unit * draw.randint(1, 2), unit * draw.randint(1, 2), draw.randint(1, 3), draw.randint(1, 3)
    layout = 2 if "x" in dest else draw.choice((0, 1))
    none = (0, 0, 0, 0)
    setting = 4, layout, none, none, draw.choice(((1, 1), None)), 0
    transform = side.descriptor("TensorTransform", "cudnnSetTensorTransformDescriptor", *setting)
    w = side.put(laid(drawn(side, source, dims), source), "w")
    out = side.put(laid(drawn(side, dest, dims), dest, layout), "y", output=True)
    descs = side.filter(source, dims), side.filter(dest, dims, layout)
    numbers = side.host(draw.choice((1, 1, 2))), side.host(draw.choice((0, 0, 1)))
    side.call("cudnnTransformFilter", side.handle, transform, numbers[0], descs[0], w, numbers[1], descs[1], out)
    side.output("y", side.read(out, NUMPY[dest]), length=2)


def reduced(side: Side) -> None:
    """cudnnReduceTensor with indices of every type, and of mixed types."""
    draw = side.draw
    op = draw.choice((2, 3, 4, 2, 3, 0, 5, 6, 7))  # MIN, MAX, AMAX; ADD, AVG, NORM1, NORM2
    indices = 1 if op in (2, 3, 4) and draw.random() < 0.8 else 0
    size = draw.choice((*(32,) * 9, 64, 16, 8))
    source, dest = draw.choice((("FLOAT", "FLOAT"),) * 4 + (("HALF", "FLOAT"), ("HALF", "HALF"), ("DOUBLE", "DOUBLE"),
                                ("INT8", "FLOAT"), ("FLOAT", "HALF"), ("INT8", "INT8"), ("FLOAT", "INT8")))  # fmt: skip
    dims = tuple(draw.randint(1, 6) for _ in range(4))
    c_dims = tuple(draw.choice((1, d)) for d in dims)
    double = "DOUBLE" in (source, dest)
    kind = {8: 3, 16: 2, 32: 0, 64: 1}[size]
    setting = op, int(double), draw.choice((0, 1)), indices, kind
    if indices and size != 32:
        side.tag("other indices")
    if c_dims == dims:
        side.tag("nothing reduced")
    desc = side.descriptor("ReduceTensor", "cudnnSetReduceTensorDescriptor", *setting)
    a_desc, c_desc = side.tensor(source, dims), side.tensor(dest, c_dims)
    room = side.call("cudnnGetReductionWorkspaceSize", side.handle, desc, a_desc, c_desc)
    nbytes = side.call("cudnnGetReductionIndicesSize", side.handle, desc, a_desc, c_desc)
    count = math.prod(c_dims)
    wanted = max(nbytes, count * size // 8)
    kept = side.put(np.full(wanted, 255, np.uint8), "indices", output=True)
    a = side.put(side.rng.permutation(math.prod(dims)).astype(NUMPY[source]) - 9, "a")  # no two are alike
    c = side.put(drawn(side, dest, c_dims), "c", output=True)
    scale = "float64" if double else "float32"
    numbers = side.host(draw.choice((1, 1, 0.5)), scale), side.host(draw.choice((0, 0, 1)), scale)
    first = side.handle, desc, kept, wanted, side.room(room, "workspace"), room
    side.call("cudnnReduceTensor", *first, numbers[0], a_desc, a, numbers[1], c_desc, c)
    side.output("c", side.read(c, NUMPY[dest]), length=math.prod(dims) // count, terms=float(math.prod(dims)) ** 2)
    if indices:
        side.output("indices", side.read(kept)[: count * size // 8].view(SIZES[size]))
    else:
        side.output("indices", side.read(kept))


PROGRAMS = {
    "cudnnTransformTensor": converted,
    "cudnnTransformTensorEx": folded,
    "cudnnTransformFilter": filters,
    "cudnnReduceTensor": reduced,
}
