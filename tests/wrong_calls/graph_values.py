"""Wrong values of graphs: tensors, variant packs and what else their calls take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from portadnn import graph

from . import graphs
from .graph_nodes import D, new, tensor, without_address
from .hostile import HOSTILE, Hostile
from .scene import CHANNELS, IMAGE, Scene
from .values import ARRAYS, BUFFERS, HOSTILES, NUMBERS, OBJECTS, Pool

DIMS = ((), (0,), (-1, 2, 4, 4), (2**62, 2**62, 1, 1), (2**63 - 1, 1, 1, 1), (1,) * 9, CHANNELS, (4, 4), (1, 3, 4, 4))


def _produced(scene: Scene) -> Any:
    return new(scene).relu(tensor(IMAGE))


def _bare(scene: Scene) -> Any:
    return graph.tensor()


def _ragged(scene: Scene, offsets: Any) -> Any:
    return tensor(IMAGE, ragged_offset=offsets)


def _itself(scene: Scene) -> Any:
    made = tensor(IMAGE)
    return made.set_ragged_offset(made)


TENSORS: Pool = [
    *((f"a tensor of {kind.name}", lambda s, r, k=kind: tensor(IMAGE, k)) for kind in D),  # type: ignore[misc]
    *(
        (f"a tensor of dims {dims}", lambda s, r, d=dims: graph.tensor().set_dim(d).set_stride([1] * len(d)))  # type: ignore[misc]
        for dims in DIMS
    ),
    *(
        (f"a tensor of strides {steps}", lambda s, r, t=steps: tensor(IMAGE, stride=t))  # type: ignore[misc]
        for steps in ((), (0, 0, 0, 0), (-1, 1, 1, 1), (2**62,) * 4, (1, 2, 3), (64, 16, 4, 1), (7, 7, 7, 7))
    ),
    ("a tensor without anything", lambda s, r: _bare(s)),
    ("a virtual tensor", lambda s, r: tensor(IMAGE, is_virtual=True)),
    ("a tensor by value", lambda s, r: tensor(IMAGE, is_pass_by_value=True)),
    ("another graph's result", lambda s, r: _produced(s)),
    ("a tensor with a uid of another", lambda s, r: tensor(CHANNELS, uid=1)),
    ("a tensor with uid -1", lambda s, r: tensor(IMAGE, uid=-1)),
    ("a tensor with a lone surrogate", lambda s, r: tensor(IMAGE, name="\ud800")),
    ("a tensor with an alignment of 3", lambda s, r: tensor(IMAGE, alignment=3)),
    ("a tensor with an alignment of 0", lambda s, r: tensor(IMAGE, alignment=0)),
    ("a reordered tensor", lambda s, r: tensor(IMAGE, reordering_type=graph.tensor_reordering.INT8x32)),
    ("a ragged tensor", lambda s, r: _ragged(s, tensor((2, 1, 1, 1), D.INT32))),
    ("a ragged tensor of floats", lambda s, r: _ragged(s, tensor((2, 1, 1, 1)))),
    ("a tensor ragged by itself", lambda s, r: _itself(s)),
    ("a scalar", lambda s, r: new(s).tensor_scalar(2)),
    ("a tensor of a NumPy array", lambda s, r: new(s).tensor_like(np.ones(IMAGE, np.float32))),
]
_ENUMS = [getattr(graph, name) for name in graph.__all__ if hasattr(getattr(graph, name), "__members__")]
ENUMS: Pool = [
    (f"{kind.__name__}.{member.name}", lambda s, r, m=member: m)  # type: ignore[misc]
    for kind in _ENUMS
    for member in dict.fromkeys((next(iter(kind)), list(kind)[-1]))
]
OTHERS: Pool = [
    ("a graph", lambda s, r: new(s)),
    ("a built graph", lambda s, r: graphs.built(s)[0]),
    ("a kernel cache", lambda s, r: graph.create_kernel_cache()),
    ("device properties", lambda s, r: graph.create_device_properties(s.handle)),
    ("a rule", lambda s, r: next(iter(graph.RULES))),
    ("a handle's number", lambda s, r: 10**9),
    ("a tensor class", lambda s, r: graph.tensor),
    ("a list of a tensor", lambda s, r: [tensor(IMAGE)]),
    ("a list of tensors of other dims", lambda s, r: [tensor(IMAGE), tensor(CHANNELS)]),
    ("a list of wrong slices", lambda s, r: [slice(3, 1), slice(None, None, -1), slice("a", "b"), slice(0, 10**30)]),
    ("slices of hostiles", lambda s, r: [slice(HOSTILE["__index__"](), HOSTILE["everything"]())] * 4),
    ("a list of modes", lambda s, r: [graph.heur_mode.B, graph.heur_mode.FALLBACK]),
    ("knobs", lambda s, r: {graph.knob_type.TILE_SIZE: 2**70}),
    ("hostile knobs", lambda s, r: {HOSTILE["__index__"](): HOSTILE["everything"]()}),
    ("a function", lambda s, r: lambda *arguments: None),
    ("bytes of JSON", lambda s, r: b'{"format": "portadnn.graph", "version": 1}'),
    ("JSON with a huge number", lambda s, r: '{"format": "portadnn.graph", "version": 1e999}'),
]
POOL: Pool = [*TENSORS, *OTHERS]


class _Raising(Mapping[Any, Any]):
    def __getitem__(self, key: Any) -> Any:
        raise Hostile

    def __iter__(self) -> Any:
        raise Hostile

    def __len__(self) -> int:
        return 3


def _with(name: str, make: Any, place: int) -> tuple[str, Any]:
    def value(scene: Scene, right: Any) -> Any:
        if not isinstance(right, dict) or not right:
            return make(scene, right)
        key = list(right)[place % len(right)]
        return {**right, key: without_address(make(scene, right[key]))}

    return f"a pack with {name} at {place}", value


def _keyed(name: str, make: Any) -> tuple[str, Any]:
    def value(scene: Scene, right: Any) -> Any:
        key = make(scene, right)
        try:
            hash(key)
        except Exception:
            key = str(name)
        return {**right, key: scene.array(IMAGE)} if isinstance(right, dict) else key

    return f"a pack with the key {name}", value


def _part(count: int) -> Any:
    return lambda s, r: dict(list(r.items())[:count]) if isinstance(r, dict) else r


def _shared(scene: Scene, right: Any) -> Any:
    return dict.fromkeys(right, scene.array(IMAGE)) if isinstance(right, dict) else right


PACKS: Pool = [
    *(_with(name, make, place) for name, make in (*ARRAYS, *BUFFERS, *HOSTILES) for place in range(4)),
    *(_with(name, make, place) for name, make in (*NUMBERS, *OBJECTS) for place in (1, 3)),
    *(_keyed(name, make) for name, make in (*TENSORS, *HOSTILES, *NUMBERS, *OBJECTS)),
    *((f"the first {count} of a pack", _part(count)) for count in range(4)),
    ("a pack with one array for all", _shared),
    ("a mapping that raises", lambda s, r: _Raising()),
    ("pairs", lambda s, r: list(r.items()) if isinstance(r, dict) else r),
    ("a pack by uid", lambda s, r: {k.get_uid(): v for k, v in r.items()} if isinstance(r, dict) else r),
    ("a pack by name", lambda s, r: {k.get_name(): v for k, v in r.items()} if isinstance(r, dict) else r),
    ("a pack twice", lambda s, r: {**r, **{k.get_uid(): s.array(IMAGE) for k in r}} if isinstance(r, dict) else r),
]
