"""cuDNN 9 as a peer of graphs: the same graphs by cudnn-frontend's Python module, on memory of torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portadnn.graph.data_types import data_type

from ..graphs import Refused
from ..sets.graph_blocks import GRAPHS, Block

_BUSY = 6_000_000  # cycles: 3 ms of an H200
_WARM = 100  # times of that, after which clocks are what they will be


class FrontendPeer:
    """cudnn-frontend's module on the current CUDA device and its default stream.

    Parameters
    ----------
    frontend, torch
        The modules, or what stands for them in tests.

    Raises
    ------
    ImportError
        A module is missing.
    RuntimeError
        torch has no CUDA here, or cuDNN refuses a handle.
    """

    def __init__(self, frontend: Any = None, torch: Any = None) -> None:
        if torch is None:
            import torch  # first: it loads the cuDNN that the other module looks for
        if frontend is None:
            import cudnn as frontend
        self.torch, self.api = torch, frontend
        if not torch.cuda.is_available():
            raise RuntimeError("torch has no CUDA here")
        self.handle = frontend.create_handle()
        for _ in range(_WARM):
            self.busy()

    def describe(self) -> dict[str, Any]:
        """Return what a record has to say of the peer."""
        versions = {"version": self.api.backend_version(), "cudnn_frontend": self.api.__version__}
        return {"name": "cudnn", **versions, "torch": self.torch.__version__, "heuristics": "A, then FALLBACK"}

    def busy(self) -> None:
        """Enqueue 3 ms of waiting."""
        self.torch.cuda._sleep(_BUSY)

    def synchronize(self) -> None:
        """Wait for what is enqueued."""
        self.torch.cuda.synchronize()

    def call(self, name: str, size: int, dtype: data_type) -> Callable[[], None]:
        """Return a call of a built graph's first plan, on memory and a workspace made once.

        Raises
        ------
        Refused
            cuDNN has no plan that computes the whole graph.
        """
        single = self.api.data_type.FLOAT
        graph = self.api.pygraph(
            io_data_type=getattr(self.api.data_type, dtype.name),
            intermediate_data_type=single,
            compute_data_type=single,
            handle=self.handle,
        )
        block = Block(self.api, graph, size)
        try:
            outs = [out.set_output(True) for out in GRAPHS[name](block)]
            graph.build([self.api.heur_mode.A, self.api.heur_mode.FALLBACK])
        except self.api.cudnnGraphNotSupportedError as error:
            raise Refused(" ".join(str(error).split())) from None
        pack = {one: self._memory(one, dtype) for one in (*block.inputs, *outs)}
        pack.update({one: self.torch.full((1, 1, 1, 1), value) for one, value in block.numbers.items()})
        workspace = self.torch.empty(max(graph.get_workspace_size(), 1), device="cuda", dtype=self.torch.uint8)
        by_uid = {one.get_uid(): memory for one, memory in pack.items()}  # what a caller who counts microseconds does
        return lambda: graph.execute(by_uid, workspace, handle=self.handle)

    def _memory(self, tensor: Any, dtype: data_type) -> Any:
        """Return random numbers with a tensor's dims, strides and type."""
        kinds = {"HALF": self.torch.float16, "BFLOAT16": self.torch.bfloat16, "FLOAT": self.torch.float32}
        kind = kinds[getattr(tensor.get_data_type(), "name", dtype.name)]
        made = self.torch.empty_strided(tensor.get_dim(), tensor.get_stride(), device="cuda", dtype=kind)
        return made.normal_(0.0, 0.5)
