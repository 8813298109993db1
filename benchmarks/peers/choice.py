"""Which peer an option of ``portadnn bench`` names."""

from __future__ import annotations

import typer
from rich.console import Console

from portadnn.errors import DnnError
from portadnn.handle import Handle
from portadnn.registry import default_backend_names

from ..graphs import GraphPeer
from .backends import BackendPeer, TorchPeer, torch_module
from .cudnn import CudnnPeer
from .frontend import FrontendPeer
from .peer import Peer


def peer_of(console: Console, handle: Handle, wanted: str) -> Peer | None:
    """Return the peer that an option names, or None for none; what is missing is printed."""
    others = [name for name in default_backend_names() if name != handle.backend]
    if wanted == "none":
        return None
    if wanted == "cudnn" and handle.info.kind == "gpu":
        return _cudnn(console)
    if wanted in others:
        return BackendPeer(Handle(wanted))
    if wanted != "torch":
        known = ", ".join(["torch", "cudnn", *others])
        raise typer.BadParameter(f"expected {known} or none, got {wanted!r}", param_hint="--peer")
    torch = torch_module()
    if torch is None:
        console.print("torch is not installed: no peer (pip install torch)", style="yellow")
        return None
    if handle.info.kind == "gpu" and not torch.cuda.is_available():
        console.print("torch has no CUDA here: no peer", style="yellow")
        return None
    return TorchPeer("cuda" if handle.info.kind == "gpu" else "cpu")


def _cudnn(console: Console) -> CudnnPeer | None:
    try:
        return CudnnPeer()
    except (DnnError, ImportError) as error:
        console.print(f"no cuDNN: {error}", style="yellow", markup=False)
        return None


def frontend_peer(console: Console, handle: Handle, wanted: str) -> GraphPeer | None:
    """Return cuDNN's frontend where it is asked for and works on the handle's device; what is missing is printed."""
    if wanted not in ("cudnn", "none"):
        raise typer.BadParameter(f"expected cudnn or none, got {wanted!r}", param_hint="--peer")
    if wanted == "none" or handle.backend != "cuda":
        return None
    try:
        return FrontendPeer()
    except (ImportError, RuntimeError, OSError) as error:
        console.print(f"no cuDNN: {error}", style="yellow", markup=False)
        return None
