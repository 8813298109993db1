"""What MIOpen alone has, on random views: gates, losses, concatenation, selection, indexing, Adam."""

from __future__ import annotations

from typing import Any

import numpy as np

import portadnn as dnn

from .operations import IN, Draw, Given, Operand, Operation

Dims = tuple[int, ...]


def _out(*dims: int, **more: Any) -> Operand:
    return Operand(dims, written=True, broadcast=False, **more)


def _image(rng: np.random.Generator) -> Dims:
    return tuple(int(n) for n in rng.integers(1, 7, int(rng.integers(3, 5))))


def _glu(rng: np.random.Generator) -> Operation:
    half = _image(rng)
    dim = int(rng.integers(len(half)))
    x = (*half[:dim], 2 * half[dim], *half[dim + 1 :])
    operands = {"x": IN(x), "dy": IN(half), "y": _out(*half), "dx": _out(*x)}

    def unified(g: Given) -> None:
        dnn.glu_forward(g.handle, g["x"], g["y"], dim=dim)
        dnn.glu_backward(g.handle, g["x"], g["dy"], g["dx"], dim=dim)

    return Operation("glu", operands, unified)


def _prelu(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    weight = (1, dims[1] if rng.integers(2) else 1, *(1,) * (len(dims) - 2))
    operands = {"x": IN(dims), "weight": IN(weight), "dy": IN(dims), "dx": _out(*dims), "dweight": _out(*weight)}

    def unified(g: Given) -> None:
        dnn.prelu_backward(g.handle, *(g[name] for name in operands))

    return Operation("prelu", operands, unified, steps=1)


def _rope(rng: np.random.Generator) -> Operation:
    dims = (*_image(rng), 2 * int(rng.integers(1, 5)))
    table = (*(1,) * (len(dims) - 2), *dims[-2:])
    operands = {"x": IN(dims), "dy": IN(dims), "cos": IN(table), "sin": IN(table)}
    operands |= {"y": _out(*dims), "dx": _out(*dims)}

    def unified(g: Given) -> None:
        dnn.rope_forward(g.handle, g["x"], g["cos"], g["sin"], g["y"])
        dnn.rope_backward(g.handle, g["dy"], g["cos"], g["sin"], g["dx"])

    return Operation("rope", operands, unified)


def _soft_margin(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    how = str(rng.choice(["none", "sum", "mean"]))
    loss = dims if how == "none" else (1,) * len(dims)
    operands = {"x": IN(dims), "target": IN(dims), "dloss": IN(dims), "loss": _out(*loss), "dx": _out(*dims)}

    def unified(g: Given) -> None:
        dnn.soft_margin_loss_forward(g.handle, g["x"], g["target"], g["loss"], reduction=how)
        dnn.soft_margin_loss_backward(g.handle, g["x"], g["target"], g["dloss"], g["dx"], reduction=how)

    return Operation("soft margin", operands, unified, types=("float32", "float64"))


def _multi_margin(rng: np.random.Generator) -> Operation:
    rows, classes, p = int(rng.integers(1, 20)), int(rng.integers(1, 9)), int(rng.integers(1, 3))
    how = str(rng.choice(["none", "sum", "mean"]))
    operands = {"x": IN((rows, classes)), "target": IN((rows,), dtype="int64", packed=True, below=classes)}
    operands |= {"weight": IN((classes,)), "loss": _out(rows if how == "none" else 1)}

    def unified(g: Given) -> None:
        dnn.multi_margin_loss_forward(g.handle, *(g[name] for name in operands), p=p, reduction=how)

    return Operation("multi margin", operands, unified, types=("float32", "float64"), steps=1)


def _cat(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    dim, sizes = int(rng.integers(len(dims))), [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 9)))]
    operands = {f"x{i}": IN((*dims[:dim], n, *dims[dim + 1 :])) for i, n in enumerate(sizes)}
    operands["y"] = _out(*dims[:dim], sum(sizes), *dims[dim + 1 :])

    def unified(g: Given) -> None:
        dnn.cat_forward(g.handle, [g[f"x{i}"] for i in range(len(sizes))], g["y"], dim=dim)

    return Operation("cat", operands, unified, steps=1)


def _kthvalue(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    dim = int(rng.integers(len(dims)))
    left, k = (*dims[:dim], 1, *dims[dim + 1 :]), int(rng.integers(1, dims[dim] + 1))
    operands = {
        "x": IN(dims),
        "y": _out(*left),
        "indices": _out(*left, packed=True, dtype=str(rng.choice(["int64", "int32"]))),
    }

    def unified(g: Given) -> None:
        dnn.kthvalue_forward(g.handle, *(g[name] for name in operands), k=k, dim=dim)

    return Operation("kthvalue", operands, unified, steps=1)


def _getitem(rng: np.random.Generator) -> Operation:
    dims = _image(rng)
    dim, start, step = int(rng.integers(len(dims))), int(rng.integers(2)), int(rng.integers(1, 3))
    left = list(dims)
    left[dim] = len(range(dims[dim])[start::step])
    first, count, rows = int(rng.integers(len(dims))), int(rng.integers(4)), int(rng.integers(1, 30))
    count = min(count, len(dims) - first)
    kind, sizes = str(rng.choice(["int64", "int32"])), left[first : first + count]
    if count:
        left[first : first + count] = [rows]
    operands = {"dy": IN(tuple(left)), "dx": _out(*dims)}
    for i, size in enumerate(sizes):  # one place too far now and then
        operands[f"index{i}"] = IN((rows,), dtype=kind, packed=True, below=size + 1)
    if count:
        operands["error"] = _out(count, packed=True, dtype="int32")
    words = {"dims": tuple(range(first, first + count)), "slices": (dim, start, dims[dim] + 1, step)}

    def unified(g: Given) -> None:
        indices = [g[f"index{i}"] for i in range(count)]
        dnn.getitem_backward(g.handle, g["dy"], indices, g["dx"], g["error"] if count else None, **words)

    return Operation("getitem", operands, unified, types=("float32", "float64"), steps=1)


def _adam(rng: np.random.Generator) -> Operation:
    dims, names = _image(rng), ("param", "grad", "exp_avg")
    operands = {name: IN(dims, broadcast=False) for name in names} | {"exp_avg_sq": IN(dims, broadcast=False, low=0.5)}
    outputs = ("param_out", "exp_avg_out", "exp_avg_sq_out")
    operands |= {name: _out(*dims) for name in outputs}

    def unified(g: Given) -> None:
        inputs = [g[name] for name in (*names, "exp_avg_sq")]
        dnn.adam(g.handle, *inputs, **{name: g[name] for name in outputs}, eps=0.125)

    return Operation("adam", operands, unified, types=("float32", "float64"), steps=1)


ITEMS: dict[str, Draw] = {
    "glu": _glu,
    "prelu": _prelu,
    "rope": _rope,
    "soft_margin": _soft_margin,
    "multi_margin": _multi_margin,
    "cat": _cat,
    "kthvalue": _kthvalue,
    "getitem": _getitem,
    "adam": _adam,
}
