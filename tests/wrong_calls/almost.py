"""Values that are almost right: of the right type, with one thing changed."""

from __future__ import annotations

import enum
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import graph

from .scene import Scene

Named = tuple[str, Any]
STEPS = (-(2**31), -2, -1, 1, 2, 31, 2**31, 2**32, 2**62)
NUMBERS = (-1.0, -0.0, 0.0, 1e-45, 0.1, 1.5, 3.4e38, 3.5e38, 1e300, float("inf"), float("-inf"), float("nan"))
DTYPES = ("f2", "f4", "f8", "i4", "u1", ">f4", "i8")


def almost(right: Any, draw: random.Random, scene: Scene, vocabulary: str) -> Named | None:
    """Return a value that differs little from a right one, with its name; None for values of unknown types."""
    if isinstance(right, graph.tensor):
        return _tensor(right, draw)
    if isinstance(right, dict) and right:
        return _pack(right, draw, scene, vocabulary)
    if isinstance(right, enum.Enum):
        member = draw.choice(list(type(right)))
        return str(member), member
    if type(right) is bool:
        return str(not right), not right
    if type(right) is int:
        number = draw.choice((right + draw.choice(STEPS), -right, 0, float(right), right * 2))
        return str(number), number
    if type(right) is float:
        number = draw.choice((*NUMBERS, right * 2, -right))
        return str(number), number
    if type(right) is str and right:
        return _text(right, draw)
    if isinstance(right, (tuple, list)) and right:
        return _items(right, draw, scene, vocabulary)
    if all(hasattr(right, name) for name in ("shape", "strides", "dtype")):
        return draw.choice(_ARRAYS)(right, draw, scene)
    return None


def _text(right: str, draw: random.Random) -> Named:
    at = draw.randrange(len(right))
    text = draw.choice((right.upper(), right[:at], right + "x", right[:at] + "_" + right[at:], f" {right}"))
    return repr(text[:40]), text


def _items(right: Any, draw: random.Random, scene: Scene, vocabulary: str) -> Named | None:
    items = list(right)
    at = draw.randrange(len(items))
    kind = draw.randrange(6)
    if kind == 0:
        del items[at]
    elif kind == 1:
        items.insert(at, items[at])
    elif kind == 2:
        items.reverse()
    else:
        changed = almost(items[at], draw, scene, vocabulary)
        if changed is None:
            return None
        items[at] = changed[1]
        return f"item {at} {changed[0]}", type(right)(items)
    return f"items {('without', 'twice', 'reversed')[kind]} at {at}", type(right)(items)


def _pack(right: dict[Any, Any], draw: random.Random, scene: Scene, vocabulary: str) -> Named | None:
    key = draw.choice(list(right))
    changed = almost(right[key], draw, scene, vocabulary)
    if changed is None or type(changed[1]) is int:
        return None
    return f"a pack with {changed[0]} at {list(right).index(key)}", {**right, key: changed[1]}


# tensors of graphs


def _tensor(right: graph.tensor, draw: random.Random) -> Named:
    dims, strides = right.get_dim(), right.get_stride()
    made = graph.tensor().set_dim(dims).set_stride(strides).set_data_type(right.get_data_type())
    kind = draw.randrange(5)
    if kind == 0 and dims:
        at = draw.randrange(len(dims))
        dims[at] = max(dims[at] + draw.choice((-1, 1, 2)), 0)
        return f"a tensor of dims {dims}", made.set_dim(dims)
    if kind == 1 and strides:
        at = draw.randrange(len(strides))
        strides[at] += draw.choice((-1, 1, 3, 100))
        return f"a tensor of strides {strides}", made.set_stride(strides)
    if kind == 2:
        data_type = draw.choice(list(graph.data_type))
        return f"a tensor of {data_type.name}", made.set_data_type(data_type)
    if kind == 3:
        return "a virtual tensor", made.set_is_virtual(True)
    return "a tensor without the last dim", made.set_dim(dims[:-1]).set_stride(strides[:-1])


# arrays


def _dims(right: Any, draw: random.Random, scene: Scene) -> Named:
    dims = list(right.shape)
    if dims:
        at = draw.randrange(len(dims))
        dims[at] = max(dims[at] + draw.choice((-1, 1, 2)), 0)
    return f"an array of dims {dims}", scene.array(dims, right.dtype)


def _other_rank(right: Any, draw: random.Random, scene: Scene) -> Named:
    dims = draw.choice(((1, *right.shape), (*right.shape, 1), right.shape[:-1], right.shape[1:], right.shape[::-1]))
    return f"an array of dims {dims}", scene.array(dims, right.dtype)


def _dtype(right: Any, draw: random.Random, scene: Scene) -> Named:
    dtype = draw.choice(DTYPES)
    return f"an array of {dtype}", scene.laid(right.shape, dtype)


def _strides(right: Any, draw: random.Random, scene: Scene) -> Named:
    if not right.shape:
        return "an array of a dim", scene.array((1,), right.dtype)
    strides, size = list(right.strides), right.dtype.itemsize
    at = draw.randrange(len(strides))
    strides[at] = max(strides[at] + draw.choice((-size, size, 4 * size, 64 * size, 1)), 0)
    room = size + sum((dim - 1) * step for dim, step in zip(right.shape, strides, strict=True) if dim > 0)
    return f"an array of strides {strides}", scene.laid(right.shape, right.dtype, strides=strides, room=max(room, 1))


def _offset(right: Any, draw: random.Random, scene: Scene) -> Named:
    offset = draw.choice((1, 2, 4, 8, 12))
    return f"an array at byte {offset}", scene.laid(right.shape, right.dtype, offset=offset)


def _short(right: Any, draw: random.Random, scene: Scene) -> Named:
    count = int(np.prod(right.shape, dtype=np.int64))
    return "a flat array that is too short", scene.array((max(count - 1, 0),), right.dtype)


def _viewed(right: Any, draw: random.Random, scene: Scene) -> Named:
    """Return a view with another offset, or with one more row."""
    dims = right.shape if 3 <= len(right.shape) <= 8 else (1, 1, 1)
    offset = draw.choice((0, 1, 4, 31))
    if draw.random() < 0.5:
        dims = (*dims[:-1], dims[-1] + 1)
    return f"a view of dims {dims} from {offset} on", dnn.TensorDescriptor(dims).view(right, offset)


def _elsewhere(right: Any, draw: random.Random, scene: Scene) -> Named:
    name = draw.choice(("other", "foreign"))
    return f"the {name} handle's array", scene.handles[name].asarray(np.ones(right.shape, np.float32))


def _transposed(right: Any, draw: random.Random, scene: Scene) -> Named:
    return "a transposed array", scene.array(right.shape[::-1], right.dtype).transpose()


_ARRAYS: tuple[Callable[[Any, random.Random, Scene], Named], ...] = (
    _dims,
    _other_rank,
    _dtype,
    _strides,
    _offset,
    _short,
    _viewed,
    _elsewhere,
    _transposed,
)
