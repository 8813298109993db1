"""What PyTorch does for recurrent networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

KINDS = {
    "RNN_RELU": ("RNN", {"nonlinearity": "relu"}),
    "RNN_TANH": ("RNN", {}),
    "LSTM": ("LSTM", {}),
    "GRU": ("GRU", {}),
}


def rnn(torch: Any, p: Any, t: dict[str, Any]) -> Callable[[], Any] | None:
    """Return the pass on torch's module with weights of its own; None for what it lacks."""
    network = p.network
    if p.batch_sizes or network.skip:
        return None
    name, more = KINDS[p.mode.name]
    sizes = network.features, p.hidden_size, p.num_layers
    data = t.get("x", t.get("dx"))
    module = getattr(torch.nn, name)(*sizes, dropout=p.dropout, bidirectional=network.directions == 2, **more)
    module = module.to(data.device, data.dtype)
    x = torch.empty_like(data).normal_().requires_grad_(p.op == "rnn_backward_data")
    if p.op.startswith("rnn_forward"):
        module.train(p.op == "rnn_forward_training")

        def forward() -> Any:
            with torch.set_grad_enabled(module.training):  # what gradients need is kept in training
                return module(x)

        return forward
    y, _ = module(x)
    dy = torch.empty_like(y).normal_()
    wanted = [x] if p.op == "rnn_backward_data" else list(module.parameters())
    return lambda: torch.autograd.grad(y, wanted, dy, retain_graph=True)
