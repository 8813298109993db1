"""The Graph API: describe a computation once, run it on any backend (docs/graph.md).

``import portadnn.graph as cudnn`` offers the names of cudnn-frontend's Python module.

>>> import numpy as np
>>> import portadnn.graph as cudnn
>>> handle = cudnn.create_handle("reference")
>>> graph = cudnn.pygraph(
...     io_data_type=cudnn.data_type.FLOAT, compute_data_type=cudnn.data_type.FLOAT, handle=handle,
...     intermediate_data_type=cudnn.data_type.FLOAT,
... )
>>> x = graph.tensor(dim=[2, 3], stride=[3, 1], name="x")
>>> y = graph.relu(graph.sub(x, 1.0)).set_output(True)
>>> graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
>>> out = np.empty((2, 3), np.float32)
>>> graph.execute({x: np.arange(6, dtype=np.float32).reshape(2, 3), y: out})
>>> out.tolist()
[[0.0, 0.0, 1.0], [2.0, 3.0, 4.0]]
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from .._version import __version__ as portadnn_version
from .api.cute_dsl import missing as _missing
from .data_types import data_type
from .emulated import backend_version, backend_version_string, frontend_version
from .enums import (
    NodeType,
    attention_implementation,
    behavior_note,
    build_plan_policy,
    convolution_mode,
    cuda_graph_retention,
    diagonal_alignment,
    heur_mode,
    knob_type,
    moe_grouped_matmul_mode,
    norm_forward_phase,
    numerical_note,
    padding_mode,
    pointwise_mode,
    reduction_mode,
    resample_mode,
    reshape_mode,
    rng_distribution,
    scalar_type,
    tensor_reordering,
)
from .errors import (
    AttributeNotSet,
    GraphCheckFailed,
    GraphError,
    GraphValidationError,
    InvalidTensorName,
    InvalidValue,
    InvalidVariantPack,
    ShapeDeductionFailed,
    cudnnGraphNotSupportedError,
)
from .in_cudnns_place import install as _install_finder
from .knobs import FRONTEND_KNOB_TYPE_BASE, is_frontend_knob_type, knob
from .node import Node
from .rules import RULES, Rule
from .tensor import tensor
from .tensor import tensor as Tensor  # noqa: N812  (1.32 names it so)

if TYPE_CHECKING:
    from .api import datatypes, wrapper
    from .api.core import Graph as NodeGraph
    from .api.cudnn_handle import DeviceInfo, Handle, create_handle
    from .api.handles import destroy_handle, get_stream, set_stream
    from .api.introspection import GraphContext
    from .api.module import get_last_error_string, graph, graph_cache, jit, sdpa_capabilities
    from .api.pygraph import pygraph
    from .api.wrapper import Graph
    from .kernel_cache import create_device_properties, create_kernel_cache

    handle = Handle
else:  # for programs that build graphs: engines of single operations use the modules below, and start without these
    _LATER = {
        "DeviceInfo": "api.cudnn_handle",
        "Graph": "api.wrapper",
        "GraphContext": "api.introspection",
        "Handle": "api.cudnn_handle",
        "NodeGraph": "api.core:Graph",
        "create_device_properties": "kernel_cache",
        "create_handle": "api.cudnn_handle",
        "create_kernel_cache": "kernel_cache",
        "datatypes": "api",
        "destroy_handle": "api.handles",
        "get_last_error_string": "api.module",
        "get_stream": "api.handles",
        "graph": "api.module",
        "graph_cache": "api.module",
        "handle": "api.cudnn_handle:Handle",  # 1.32 has both names
        "jit": "api.module",
        "pygraph": "api.pygraph",
        "sdpa_capabilities": "api.module",
        "set_stream": "api.handles",
        "wrapper": "api",
    }

    def __getattr__(name: str) -> Any:
        if name in _LATER:
            module, _, there = _LATER[name].partition(":")
            value = _from(f"{__name__}.{module}", there or name)
        elif importlib.util.find_spec(f"{__name__}.{name}"):
            value = importlib.import_module(f"{__name__}.{name}")
        else:
            raise _missing(name)
        globals()[name] = value
        return value

    def _from(module: str, name: str) -> Any:
        found = importlib.import_module(module)
        return getattr(found, name, None) or importlib.import_module(f"{module}.{name}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__version__ = frontend_version()
_install_finder()

__all__ = [
    "FRONTEND_KNOB_TYPE_BASE",
    "RULES",
    "AttributeNotSet",
    "DeviceInfo",
    "Graph",
    "GraphCheckFailed",
    "GraphContext",
    "GraphError",
    "GraphValidationError",
    "Handle",
    "InvalidTensorName",
    "InvalidValue",
    "InvalidVariantPack",
    "Node",
    "NodeGraph",
    "NodeType",
    "Rule",
    "ShapeDeductionFailed",
    "Tensor",
    "__version__",
    "attention_implementation",
    "backend_version",
    "backend_version_string",
    "behavior_note",
    "build_plan_policy",
    "convolution_mode",
    "create_device_properties",
    "create_handle",
    "create_kernel_cache",
    "cuda_graph_retention",
    "cudnnGraphNotSupportedError",
    "data_type",
    "datatypes",
    "destroy_handle",
    "diagonal_alignment",
    "get_last_error_string",
    "get_stream",
    "graph",
    "graph_cache",
    "handle",
    "heur_mode",
    "is_frontend_knob_type",
    "jit",
    "knob",
    "knob_type",
    "moe_grouped_matmul_mode",
    "norm_forward_phase",
    "numerical_note",
    "padding_mode",
    "pointwise_mode",
    "portadnn_version",
    "pygraph",
    "reduction_mode",
    "resample_mode",
    "reshape_mode",
    "rng_distribution",
    "scalar_type",
    "sdpa_capabilities",
    "set_stream",
    "tensor",
    "tensor_reordering",
    "wrapper",
]
