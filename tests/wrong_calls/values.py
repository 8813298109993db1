"""Wrong values: each with a name, and a function of the case that makes it anew."""

from __future__ import annotations

import decimal
import fractions
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import cudnn, miopen

from .hostile import HOSTILE
from .scene import CHANNELS, GUARD, IMAGE, Scene

Value = Callable[[Scene, Any], Any]  # of the case and the right value
Pool = list[tuple[str, Value]]

NAN = float("nan")


def _constants(**values: Any) -> Pool:
    return [(name, lambda s, r, v=value: v) for name, value in values.items()]  # type: ignore[misc]


def _shown(*values: Any) -> Pool:
    return [(_name(value), lambda s, r, v=value: v) for value in values]  # type: ignore[misc]


def _name(value: Any) -> str:
    if type(value) is int and abs(value) > 2**200:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value)
    except ValueError:
        return f"a {type(value).__name__} with an integer of 6000 digits"
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)})"


NUMBERS = _shown(
    -1,
    0,
    1,
    2,
    3,
    7,
    99,
    -5,
    2**31 - 1,
    2**31,
    2**32,
    2**48,
    2**63,
    2**64,
    -(2**63),
    -(2**31),
    10**400,
    -(10**400),
    10**6000,
) + _shown(0.5, 1.0, -0.0, 2.5, NAN, float("inf"), -float("inf"), 1e39, -1e39, 1e308, 1j, 1e-320)
NUMBERS += _shown(
    np.int64(3), np.int8(-1), np.uint64(2**64 - 1), np.float32(3), np.float16("nan"), np.float64(1e300), np.bool_(True)
) + _shown(np.longdouble(1), np.complex64(1), decimal.Decimal("sNaN"), decimal.Decimal(2), fractions.Fraction(10**400))
NUMBERS += _constants(
    array_0d=np.array(3),
    array_of_one=np.array([3]),
    array_0d_object=np.array(None, dtype=object),
    datetime=np.datetime64("2020-01-01"),
)

OBJECTS = _shown(None, True, False, "", "relu", "max", "float32", "0", "x" * 10_000, "\0", "\ud800", "%s", "ÄÖ\n")
OBJECTS += _shown(b"", b"float32", bytearray(3), (), [], {}, {"a": 1}, set(), Ellipsis, NotImplemented, print, int)
OBJECTS += _constants(
    memoryview=memoryview(b"12345678"),
    object=object(),
    dtype=np.dtype("f4"),
    module=np,
    error=ValueError("x"),
    type_class=dnn.Handle,
)

LISTS = _shown((1,), (1, 2), [1, 1], (0, 0), (-1, -1), (1, 1, 1), (1,) * 4, (1,) * 9, (1,) * 100, (1, 2, 4, 4))
LISTS += _shown(
    (2**63, 1),
    (2**31, 2**31),
    (10**400, 1),
    (10**6000, 1),
    (NAN, 1),
    (1.0, 1.0),
    (None, None),
    ("1", "1"),
    (True, True),
)
LISTS += _shown(((1, 1), (1, 1)), [[1, 2], [3]], [[[[]]]], range(2), range(2**62), {1: 2}, {1, 2}, "12", b"12")
LISTS += [
    ("a deep list", lambda s, r: _deep(3000)),
    ("a list that holds itself", lambda s, r: _own()),
    ("a generator", lambda s, r: (i for i in (1, 1))),
    ("an endless iterator", lambda s, r: itertools.repeat(1)),
    ("a failing generator", lambda s, r: (1 // i for i in (1, 0))),
    ("an integer array", lambda s, r: np.array([1, 1])),
    ("a float array", lambda s, r: np.array([1.0, np.nan])),
    ("the right value, shortened", lambda s, r: r[:-1] if isinstance(r, (list, tuple)) else [r]),
    ("the right value, twice", lambda s, r: (*r, *r) if isinstance(r, (list, tuple)) else [r, r]),
]


def _deep(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def _own() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


_ENUMS = [getattr(dnn, name) for name in dnn.__all__ if hasattr(getattr(dnn, name), "__members__")]
_C_ENUMS = [getattr(cudnn, n) for n in cudnn.__all__ if n.endswith("_t") and hasattr(getattr(cudnn, n), "__members__")]
_M_ENUMS = [getattr(miopen, n) for n in miopen.__all__ if hasattr(getattr(miopen, n), "__members__")]
ENUMS: Pool = [
    (f"{kind.__name__}.{member.name}", lambda s, r, m=member: m)  # type: ignore[misc]
    for kind in (*_ENUMS, *_C_ENUMS, *_M_ENUMS)
    for member in dict.fromkeys((next(iter(kind)), list(kind)[-1]))
]

HOSTILES: Pool = [(f"hostile {name}", lambda s, r, k=kind: k()) for name, kind in HOSTILE.items()]  # type: ignore[misc]


def _native(scene: Scene) -> list[Any]:
    return [
        dnn.TensorDescriptor(IMAGE),
        dnn.FilterDescriptor((2, 2, 3, 3)),
        dnn.ConvolutionDescriptor((0, 0)),
        dnn.ConvolutionDescriptor((1, 1, 1)),
        dnn.PoolingDescriptor("average_count_exclude_padding", (2, 2)),
        dnn.PoolingDescriptor("max", (2, 2, 2)),
        dnn.ActivationDescriptor("elu"),
        dnn.LRNDescriptor(1, 1.0, 0.01, 1e-5),
        dnn.OpTensorDescriptor("max"),
        dnn.ReduceTensorDescriptor("max", indices="flattened_indices"),
        dnn.RNNDescriptor(3, 2, "gru", 1),
        dnn.SpatialTransformerDescriptor((1, 1, 2, 2)),
        dnn.DropoutDescriptor(0.5),
        dnn.TensorDescriptor((1, 2, 4, 4), "float16"),
        dnn.TensorDescriptor((0, 2, 4, 4)),
        dnn.TensorDescriptor((2**40, 1, 1), strides=(1, 1, 1)),
        dnn.TensorSpec.parse("f32:1x2x4x4"),
        dnn.parse("softmax_forward x=f32:1x2x4x4"),
        dnn.Problem(),
        dnn.BadParam("x"),
    ]


NATIVE: Pool = [(f"native object {i}", lambda s, r, i=i: _native(s)[i]) for i in range(20)]  # type: ignore[misc]


def descriptors(kinds: dict[str, Any], module: Any) -> Pool:
    """Return opaque objects of a C library: set, not set, destroyed."""
    prefix = module.__name__.rpartition(".")[2]
    found: Pool = []
    for kind, make in kinds.items():
        found.append((f"a {kind}", lambda s, r, m=make: m(s)))  # type: ignore[misc]
        name, _, which = kind.partition(":")
        if which not in ("", "image"):
            continue
        end = name.removeprefix(prefix).removesuffix("_t")
        creator = getattr(module, f"{prefix}Create{end}", None)
        if creator is not None and not any(word in end for word in ("Backend", "Plan", "ParamPack")):
            found.append((f"an unset {name}", lambda s, r, c=creator: c()))  # type: ignore[misc]
        destroy = getattr(module, f"{prefix}Destroy{end}", None)
        if destroy is not None:
            found.append((f"a destroyed {name}", lambda s, r, m=make, d=destroy: _ended(m(s), d)))  # type: ignore[misc]
    return found


def _ended(descriptor: Any, destroy: Callable[[Any], None]) -> Any:
    destroy(descriptor)
    return descriptor


HANDLES: Pool = [
    ("a closed handle", lambda s, r: s.handles["closed"]),
    ("another handle", lambda s, r: s.handles["other"]),
    ("another backend's handle", lambda s, r: s.handles["foreign"]),
    ("the handle", lambda s, r: s.handle),
]


def _dims(right: Any) -> tuple[int, ...]:
    shape = getattr(right, "shape", IMAGE)
    return tuple(shape) if isinstance(shape, tuple) and shape else IMAGE


def _like(dtype: str) -> Value:
    return lambda s, r: s.laid(_dims(r), dtype)


def _masked(scene: Scene, right: Any) -> Any:
    return np.ma.masked_array(np.ones(_dims(right), np.float32), np.ones(_dims(right), bool))


def _beyond(scene: Scene, right: Any, offset: int = 0, *, strides: tuple[int, ...] | None = None) -> Any:
    """Return an array of the backend whose elements lie outside of its buffer, inside of a watched one on OpenCL."""
    if scene.backend == "reference":  # NumPy's arrays know no buffer
        return scene.array(_dims(right))
    return scene.laid(_dims(right), np.float32, room=16, offset=offset, strides=strides)


ARRAYS: Pool = [(f"an array of {t}", _like(t)) for t in ("f2", "f8", "i4", "u1", "i1", "?", "c8", ">f4", "i8", "u2")]
ARRAYS += [
    ("an array of U1", lambda s, r: np.full(_dims(r), "x")),
    ("an array of objects", lambda s, r: np.full(_dims(r), None, object)),
    ("a structured array", lambda s, r: np.zeros(_dims(r), [("a", "f4"), ("b", "i4")])),
    ("an array of datetime64", lambda s, r: np.zeros(_dims(r), "M8[s]")),
    ("an array of V4", lambda s, r: np.zeros(_dims(r), "V4")),
    ("a NumPy array", lambda s, r: s.keep("numpy", np.ones(_dims(r), np.float32))),
    ("a masked array", _masked),
    ("a NumPy matrix", lambda s, r: np.asmatrix(np.ones((2, 2), np.float32))),
    ("a record array", lambda s, r: np.rec.array(np.zeros(3, [("a", "f4")]))),
    ("a NumPy scalar", lambda s, r: np.float32(3)),
    ("a 0-d array", lambda s, r: s.laid((), "f4")),
    ("a 1-d array", lambda s, r: s.laid((32,), "f4")),
    ("a 2-d array", lambda s, r: s.laid((4, 8), "f4")),
    ("a 3-d array", lambda s, r: s.laid((2, 4, 4), "f4")),
    ("a 5-d array", lambda s, r: s.laid((1, 2, 4, 2, 2), "f4")),
    ("a 9-d array", lambda s, r: s.laid((1,) * 9, "f4")),
    ("a 32-d array", lambda s, r: np.ones((1,) * 32, np.float32)),
    ("an array of other dims", lambda s, r: s.laid((1, 3, 4, 4), "f4")),
    ("an array of small dims", lambda s, r: s.laid((1, 1, 1, 1), "f4")),
    ("an array of large dims", lambda s, r: s.laid((2, 2, 5, 5), "f4")),
    ("an array without elements", lambda s, r: s.laid((0, *_dims(r)[1:]), "f4")),
    ("an array without channels", lambda s, r: s.laid((1, 0, 4, 4), "f4")),
    ("an array of channels", lambda s, r: s.laid(CHANNELS, "f4")),
    ("an array turned round", lambda s, r: _turned(s, r)),
    ("an array with stride 0", lambda s, r: s.laid(_dims(r), "f4", strides=(0,) * len(_dims(r)), room=64)),
    ("an array with odd strides", lambda s, r: _odd(s, r)),
    ("an unaligned array", lambda s, r: s.laid(_dims(r), "f4", offset=2)),
    ("an array at 4 bytes", lambda s, r: s.laid(_dims(r), "f4", offset=4)),
    ("a read-only array", lambda s, r: _read_only(s, r)),
    ("a broadcast array", lambda s, r: np.broadcast_to(np.float32(1), _dims(r))),
    ("another context's array", lambda s, r: s.handles["other"].asarray(np.ones(_dims(r), np.float32))),
    ("another backend's array", lambda s, r: s.handles["foreign"].asarray(np.ones(_dims(r), np.float32))),
    ("a view of the right array", lambda s, r: _view(s, r, IMAGE)),
    ("a view that is too long", lambda s, r: _view(s, r, (1, 2, 40, 4))),
    ("a view that begins too late", lambda s, r: _view(s, r, IMAGE, 2**40)),
    ("a view of a list", lambda s, r: dnn.TensorDescriptor(IMAGE).view([1.0] * 32)),
    ("a view of a view", lambda s, r: dnn.TensorDescriptor(IMAGE).view(_view(s, r, IMAGE))),
    ("a view of float16", lambda s, r: dnn.TensorDescriptor(IMAGE, "float16").view(s.array(IMAGE))),
    ("a view of a number", lambda s, r: dnn.TensorDescriptor(IMAGE).view(4096)),
    ("a view of a huge number", lambda s, r: dnn.TensorDescriptor(IMAGE).view(10**400)),
    ("an array beyond its buffer", lambda s, r: _beyond(s, r)),
    ("an array far beyond its buffer", lambda s, r: _beyond(s, r, offset=GUARD - 64)),
    ("an array before its buffer", lambda s, r: _before(s, r)),
    ("an address", lambda s, r: 4096),
    ("bytes", lambda s, r: bytes(4096)),
    ("a pair of arrays", lambda s, r: (s.array(IMAGE), s.array(IMAGE))),
]
BUFFERS: Pool = [
    ("a buffer of 0 bytes", lambda s, r: s.buffer(0) if s.backend == "reference" else s.array((0, 1, 1))),
    ("a buffer of 1 byte", lambda s, r: s.buffer(1)),
    ("a buffer of 31 bytes", lambda s, r: s.buffer(31)),
    ("an unaligned buffer", lambda s, r: s.laid((1 << 12,), "u1", offset=1)),
    ("a buffer of int64", lambda s, r: s.laid((512,), "i8")),
    ("a 2-d buffer", lambda s, r: s.laid((64, 64), "u1")),
    ("a strided buffer", lambda s, r: s.laid((64,), "u1", strides=(2,), room=256)),
    ("a buffer of objects", lambda s, r: np.full((64,), None, object)),
    ("a NumPy buffer", lambda s, r: s.keep("numpy", np.zeros(1 << 14, np.uint8))),
]


def _turned(scene: Scene, right: Any) -> Any:
    array = scene.laid(_dims(right), "f4")
    return array[::-1] if scene.backend == "reference" and array.ndim else array


def _odd(scene: Scene, right: Any) -> Any:
    dims = _dims(right)
    strides, step = [], 6
    for dim in reversed(dims):
        strides.append(step)
        step *= max(dim, 1)
    return scene.laid(dims, "f4", strides=tuple(reversed(strides)), room=step + 64)


def _read_only(scene: Scene, right: Any) -> Any:
    array = scene.keep("numpy", np.ones(_dims(right), np.float32))
    array.flags.writeable = False
    return array


def _view(scene: Scene, right: Any, dims: tuple[int, ...], offset: int = 0) -> Any:
    base = right if hasattr(right, "strides") else scene.array(IMAGE)
    return dnn.TensorDescriptor(dims).view(base, offset)


def _before(scene: Scene, right: Any) -> Any:
    if scene.backend != "reference":
        return scene.laid(_dims(right), "f4", strides=tuple(-4 for _ in _dims(right)), room=64)
    return scene.laid(_dims(right), "f4")[..., ::-1]
