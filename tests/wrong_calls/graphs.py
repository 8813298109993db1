"""The right calls of portadnn.graph: tensors, life cycles, variant packs, the wrapper; graph_nodes.py has the nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portadnn import graph

from . import graph_nodes
from .graph_nodes import ONE, D, Word, finish, new, tensor
from .scene import CHANNELS, FILTER, IMAGE, Call, Scene


def _used(scene: Scene, one: graph.tensor, other: graph.tensor | None = None) -> None:
    made = new(scene)
    made.add(one, tensor(IMAGE) if other is None else other).set_output(True)
    finish(made, scene)


def _setter(name: str, /, **values: Any) -> Callable[[Scene], Call]:
    def make(scene: Scene) -> Call:
        def run(self: graph.tensor, *args: Any, **kwargs: Any) -> None:
            _used(scene, getattr(self, name)(*args, **kwargs))

        return Call(f"tensor.{name}", run, {"self": tensor(ONE if name == "set_value" else IMAGE), **values})

    return make


def _maker(name: str, /, **words: Word) -> Callable[[Scene], Call]:
    """Return what makes the call of a graph's method that makes a tensor, which is used then."""

    def make(scene: Scene) -> Call:
        def run(self: graph.pygraph, *args: Any, **kwargs: Any) -> None:
            one = getattr(self, name)(*args, **kwargs)
            self.add(one, tensor(IMAGE)).set_output(True)
            finish(self, scene)

        return Call(f"pygraph.{name}", run, {"self": new(scene), **{n: word(scene) for n, word in words.items()}})

    return make


SETTERS: dict[str, dict[str, Any]] = {
    "set_name": {"name": "x"},
    "set_data_type": {"data_type": D.FLOAT},
    "set_dim": {"dim": list(IMAGE)},
    "set_stride": {"stride": [32, 16, 4, 1]},
    "set_is_virtual": {"is_virtual": False},
    "set_output": {"is_output": True},
    "set_is_pass_by_value": {"is_pass_by_value": False},
    "set_uid": {"uid": 77},
    "set_reordering_type": {"reordering_type": graph.tensor_reordering.NONE},
    "set_alignment": {"alignment": 16},
    "set_vector_count_and_dimension": {"count": 1, "dimension": -1},
    "set_ragged_offset": {"ragged_offset": None},
    "set_ragged_offset_multiplier": {"multiplier": 1},
    "set_value": {"value": 1.5, "kind": graph.scalar_type.RUNTIME_PARAM},
}

MADE: dict[str, Word] = {
    "dim": lambda s: list(IMAGE),
    "stride": lambda s: [32, 16, 4, 1],
    "data_type": lambda s: D.FLOAT,
    "is_virtual": lambda s: False,
    "is_pass_by_value": lambda s: False,
    "ragged_offset": lambda s: None,
    "reordering_type": lambda s: graph.tensor_reordering.NONE,
    "name": lambda s: "t",
    "uid": lambda s: -1,
}

# life cycles

_BUILT: dict[tuple[int, str], tuple[graph.pygraph, list[graph.tensor]]] = {}


def _activation(scene: Scene) -> tuple[graph.pygraph, list[graph.tensor]]:
    """Return relu(x * s + b) and its tensors, s by value."""
    made = new(scene)
    x, b = tensor(IMAGE), tensor(CHANNELS)
    s = made.tensor_scalar(2.0, graph.scalar_type.RUNTIME_PARAM)
    y = made.relu(made.add(made.mul(x, s), b)).set_output(True).set_name("y")
    return made, [x.set_name("x").set_uid(11), s.set_uid(12), b.set_name("b").set_uid(13), y.set_uid(14)]


def _convolution(scene: Scene) -> tuple[graph.pygraph, list[graph.tensor]]:
    made = new(scene)
    x, w = tensor(IMAGE), tensor(FILTER)
    y = made.conv_fprop(x, w, padding=[1, 1]).set_output(True)
    made.reduction(y, graph.reduction_mode.ADD).set_output(True).set_dim(CHANNELS).set_uid(4)
    return made, [x.set_uid(1), w.set_uid(2), y.set_uid(3), made.query_tensor_attributes_of_uid(4)]


KINDS: dict[str, Callable[[Scene], tuple[graph.pygraph, list[graph.tensor]]]] = {
    "activation": _activation,
    "convolution": _convolution,
}


def built(scene: Scene, kind: str = "activation") -> tuple[graph.pygraph, list[graph.tensor]]:
    """Return a built graph that cases of a handle share, and its tensors."""
    key = id(scene.handle), kind
    if key not in _BUILT:
        made, tensors = KINDS[kind](scene)
        made.build()
        _BUILT[key] = made, tensors
    return _BUILT[key]


def own(scene: Scene) -> graph.pygraph:
    """Return a built graph of this case's own."""
    made, _ = _activation(scene)
    made.build()
    return made


def pack(scene: Scene, kind: str = "activation") -> dict[Any, Any]:
    """Return the right variant pack of a built graph."""
    found: dict[Any, Any] = {}
    for one in built(scene, kind)[1]:
        dims = tuple(one.get_dim())
        found[one] = 2.0 if one.get_is_pass_by_value() else scene.array(dims)
    return found


def _workspace(scene: Scene, kind: str = "activation") -> Any:
    return scene.buffer(max(built(scene, kind)[0].get_workspace_size(), 1))


def _on(kind: str, method: str, /, **words: Word) -> Callable[[Scene], Call]:
    """Return what makes the call of a method of a shared graph."""

    def make(scene: Scene) -> Call:
        values = {name: word(scene) for name, word in words.items()}
        return Call(f"pygraph.{method}", getattr(graph.pygraph, method), {"self": built(scene, kind)[0], **values})

    return make


def _own(method: str, /, **words: Word) -> Callable[[Scene], Call]:
    """Return what makes the call of a method that changes its graph, which then chooses a plan."""

    def make(scene: Scene) -> Call:
        def run(self: graph.pygraph, *args: Any, **kwargs: Any) -> None:
            getattr(self, method)(*args, **kwargs)
            self.check_support()

        return Call(f"pygraph.{method}", run, {"self": own(scene), **{n: word(scene) for n, word in words.items()}})

    return make


def _bound(scene: Scene) -> Call:
    def run(self: graph.pygraph, *args: Any, **kwargs: Any) -> None:
        again = self.bind(*args, **kwargs)
        again()
        again()

    values = {"tensor_to_device_buffer": pack(scene), "workspace": None, "handle": None}
    return Call("pygraph.bind", run, {"self": built(scene)[0], **values})


def _none(scene: Scene) -> None:
    return None


def _engine(scene: Scene) -> int:
    return built(scene)[0].get_engine_and_knobs_at_index(0)[0]


def _at(index: str = "index") -> dict[str, Word]:
    return {index: lambda s: 0}


_PACK: dict[str, Word] = {"tensor_to_device_buffer": pack, "workspace": _workspace, "handle": lambda s: s.handle}
_PACK |= dict.fromkeys(("override_uids", "override_shapes", "override_strides", "tensor_uids"), _none)
_CONVOLUTION: dict[str, Word] = {
    **_PACK,
    "tensor_to_device_buffer": lambda s: pack(s, "convolution"),
    "workspace": lambda s: _workspace(s, "convolution"),
}
_NUMERIC: dict[str, Word] = {"notes": lambda s: [graph.numerical_note.FFT]}
_BEHAVIOR: dict[str, Word] = {"notes": lambda s: [graph.behavior_note.CUBLASLT_DEPENDENCY]}
LIFE: dict[str, Callable[[Scene], Call]] = {
    "pygraph.execute": _on("activation", "execute", **_PACK),
    "pygraph.execute of a convolution": _on("convolution", "execute", **_CONVOLUTION),
    "pygraph.execute with a check": _on("activation", "execute", **_PACK, check=lambda s: "reference"),
    "pygraph.execute_plan_at_index": _on(
        "activation", "execute_plan_at_index", **{**dict(list(_PACK.items())[:2]), **_at(), "handle": _none}
    ),
    "pygraph.bind": _bound,
    "pygraph.explain": _on("activation", "explain", handle=lambda s: s.handle),
    "pygraph.check_against": _on("activation", "check_against", library=lambda s: "cudnn-9", cc=lambda s: (8, 0)),
    "pygraph.to_dot": _on("activation", "to_dot", handle=lambda s: s.handle),
    "pygraph.to_mermaid": _on("convolution", "to_mermaid", handle=lambda s: s.handle),
    "pygraph.reproducer": _on("activation", "reproducer", seed=lambda s: 3),
    "pygraph.find_tensor": _on("activation", "find_tensor", name_or_uid=lambda s: 11),
    "pygraph.get_node": _on("activation", "get_node", name=lambda s: "0"),
    "pygraph.query_tensor_attributes_of_uid": _on("activation", "query_tensor_attributes_of_uid", uid=lambda s: 11),
    **{
        f"pygraph.{name}": _on("convolution", name, **_at())
        for name in (
            "get_workspace_size_plan_at_index",
            "get_plan_name_at_index",
            "get_plan_source_at_index",
            "get_engine_and_knobs_at_index",
            "get_behavior_notes_for_plan_at_index",
            "get_numeric_notes_for_plan_at_index",
        )
    },
    "pygraph.get_knobs_for_engine": _on("convolution", "get_knobs_for_engine", **_at("engine_id")),
    "pygraph.build": _own("build", modes=lambda s: [graph.heur_mode.A]),
    "pygraph.create_execution_plans": _own("create_execution_plans", modes=lambda s: [graph.heur_mode.A]),
    "pygraph.create_execution_plan": _own("create_execution_plan", engine_id=_engine, knobs=lambda s: {}),
    "pygraph.build_plans": _own("build_plans", policy=lambda s: graph.build_plan_policy.HEURISTICS_CHOICE),
    "pygraph.select_plan": _on("convolution", "select_plan", **_at()),
    "pygraph.build_plan_at_index": _own("build_plan_at_index", **_at()),
    "pygraph.select_numeric_notes": _own("select_numeric_notes", notes=lambda s: []),
    "pygraph.deselect_numeric_notes": _own("deselect_numeric_notes", **_NUMERIC),
    "pygraph.select_behavior_notes": _own("select_behavior_notes", notes=lambda s: []),
    "pygraph.deselect_behavior_notes": _own("deselect_behavior_notes", **_BEHAVIOR),
    "pygraph.deselect_engines": _own("deselect_engines", names=lambda s: ["nobody"]),
    "pygraph.deselect_workspace_greater_than": _own("deselect_workspace_greater_than", workspace=lambda s: 1 << 20),
    "pygraph.serialize_as": _on("activation", "serialize_as", format=lambda s: "hipdnn-json"),
    "pygraph.deserialize": _own(
        "deserialize", handle_or_data=lambda s: s.handle, data=lambda s: built(s)[0].serialize()
    ),
}

# beside graphs


def _pygraph(scene: Scene) -> Call:
    def run(*args: Any, **kwargs: Any) -> None:
        made = graph.pygraph(*args, **kwargs)
        made.relu(tensor(IMAGE)).set_output(True)
        finish(made, scene)

    types = dict.fromkeys(("io_data_type", "intermediate_data_type", "compute_data_type"), D.FLOAT)
    caches = {"kernel_cache": graph.create_kernel_cache(), "device_property": None}
    values = {"name": "g", **types, "handle": scene.handle, "sm_count": None, "sm_version": None, **caches}
    return Call("pygraph", run, values)


def _wrapper(scene: Scene) -> Call:
    def run(*args: Any, x: Any, w: Any, **kwargs: Any) -> None:
        with graph.Graph(*args, **kwargs) as made:
            made.conv_fprop(x, w, padding=[1, 1], name="conv").set_output(True)
        made(x, w)

    run.__qualname__ = "Graph"
    lists = {"inputs": ["conv::image", "conv::weight"], "outputs": ["conv::Y"], "heuristics": [graph.heur_mode.A]}
    types = dict.fromkeys(("io_data_type", "intermediate_data_type", "compute_data_type"), D.FLOAT)
    values = {"handle": scene.handle, **lists, "workspace_alloc": True, **types}
    values |= {"x": scene.array(IMAGE), "w": scene.array(FILTER)}
    return Call("Graph", run, values, frozenset(values))


_WRAPPED: dict[int, graph.Graph] = {}


def _called(scene: Scene) -> Call:
    if id(scene.handle) not in _WRAPPED:
        types = dict.fromkeys(("io_data_type", "intermediate_data_type", "compute_data_type"), D.FLOAT)
        with graph.Graph(handle=scene.handle, inputs=["x", "b"], outputs=["y"], **types) as made:
            x, b = tensor(IMAGE).set_name("x"), tensor(CHANNELS).set_name("b")
            made.add(x, b, name="sum").set_output(True).set_name("y")
        _WRAPPED[id(scene.handle)] = made
    values = {"self": _WRAPPED[id(scene.handle)], "x": scene.array(IMAGE), "b": scene.array(CHANNELS)}
    values |= {"handle": scene.handle, "workspace": None}
    return Call("Graph.__call__", graph.Graph.__call__, values, frozenset(("handle", "workspace")))


def _function(name: str, run: Callable[..., Any] | None = None, **words: Word) -> Callable[[Scene], Call]:
    def make(scene: Scene) -> Call:
        return Call(name, run or getattr(graph, name), {n: word(scene) for n, word in words.items()})

    return make


def graph_cache(key_fn: Any, maxsize: Any) -> Any:
    return graph.graph_cache(key_fn, maxsize)(lambda: 1)()


def jit(heur_modes: Any, handle: Any) -> Any:
    made = graph.pygraph("jit", D.FLOAT, D.FLOAT, D.FLOAT, handle)
    return graph.jit(heur_modes)(lambda: (made, [made.relu(tensor(IMAGE)).set_output(True)]))()


FUNCTIONS: dict[str, Callable[[Scene], Call]] = {
    "create_handle": _function("create_handle", backend=lambda s: s.backend, device=lambda s: 0),
    "destroy_handle": _function("destroy_handle", handle=lambda s: s.new_handle()),
    "set_stream": _function("set_stream", handle=lambda s: s.new_handle(), stream=_none),
    "get_stream": _function("get_stream", handle=lambda s: s.handle),
    "create_device_properties": _function("create_device_properties", device=lambda s: s.handle),
    "graph_cache": _function("graph_cache", graph_cache, key_fn=lambda s: lambda: 1, maxsize=lambda s: 2),
    "jit": _function("jit", jit, heur_modes=lambda s: [graph.heur_mode.A], handle=lambda s: s.handle),
}


def calls() -> dict[str, Callable[[Scene], Call]]:
    """Return what makes the right call of each function and method, by name."""
    return {
        **graph_nodes.calls(),
        **{f"tensor.{name}": _setter(name, **values) for name, values in SETTERS.items()},
        "pygraph.tensor": _maker("tensor", **MADE),
        "pygraph.tensor_like": _maker("tensor_like", tensor_or_array=lambda s: s.array(IMAGE), name=lambda s: "t"),
        "pygraph.tensor_scalar": _maker("tensor_scalar", value=lambda s: 2.0, scalar_type=lambda s: 1),
        **LIFE,
        "pygraph": _pygraph,
        "Graph": _wrapper,
        "Graph.__call__": _called,
        **FUNCTIONS,
    }
