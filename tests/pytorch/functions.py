"""The table of differentiable functions: ours, PyTorch's, and tensors to compare them on.

Tensors are drawn in float64; ``labels`` and lengths are made by the case itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from portadnn.torch import ops


@dataclass(frozen=True)
class Case:
    """A function of tensors, with the same call of PyTorch's.

    Attributes
    ----------
    shapes
        Of the tensors, all of which take part in gradients.
    change
        Applied to the drawn tensors, to leave the places where a derivative jumps.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    change: Callable[[list[torch.Tensor]], list[torch.Tensor]] = list

    def tensors(self, dtype=torch.float64, device="cpu", grad=True, seed=0):
        draw = torch.Generator().manual_seed(seed)
        drawn = self.change([torch.randn(shape, dtype=torch.float64, generator=draw) for shape in self.shapes])
        return [t.to(device, dtype).requires_grad_(grad) for t in drawn]


CASES: list[Case] = []


def case(name, *shapes, ours, theirs, change=list):
    CASES.append(Case(name, shapes, ours, theirs, change))


def same(name, function, *shapes, change=list, variant="", **options):
    """Add a function that has PyTorch's name and arguments."""
    mine, other = getattr(ops, name), function or getattr(functional, name)
    case(
        name + variant,
        *shapes,
        ours=lambda *t, backend: mine(*t, **options, backend=backend),
        theirs=lambda *t: other(*t, **options),
        change=change,
    )


def apart(tensors):
    """Return tensors with all elements apart from each other and from 0, in an order that is drawn."""
    changed = []
    for t in tensors:
        order = t.flatten().argsort()
        ranks = torch.empty_like(t.flatten())
        ranks[order] = torch.linspace(-2, 2, t.numel(), dtype=t.dtype) + 0.3 / t.numel()
        changed.append(ranks.view(t.shape))
    return changed


same("conv1d", None, (2, 4, 9), (6, 2, 3), (6,), stride=2, padding=1, groups=2)
same("conv2d", None, (2, 4, 6, 7), (6, 4, 3, 2), (6,), stride=(2, 1), padding=(1, 2), dilation=(1, 2))
same("conv2d", None, (1, 4, 5, 5), (4, 1, 3, 3), variant=" depthwise, no bias", padding=1, groups=4)
same("conv2d", None, (3, 5, 6), (2, 3, 4, 2), (2,), variant=" unbatched, same", padding="same")
same("conv2d", None, (2, 3, 1, 1), (4, 3, 1, 1), (4,), variant=" of one pixel")
same("conv3d", None, (1, 2, 4, 5, 3), (3, 2, 2, 3, 2), (3,), padding=1, stride=2)
same("conv_transpose1d", None, (2, 4, 5), (4, 3, 3), (6,), stride=2, padding=1, output_padding=1, groups=2)
same("conv_transpose2d", None, (2, 4, 3, 4), (4, 3, 3, 2), (3,), stride=2, padding=1, output_padding=1)
same(
    *("conv_transpose2d", None, (1, 2, 3, 4), (2, 3, 3, 3)),
    variant=" with more output than a stride",
    output_padding=2,
    dilation=3,
)
same("conv_transpose3d", None, (1, 2, 2, 3, 2), (2, 2, 2, 2, 3), (2,), stride=2)

for rank, image in ((1, (2, 3, 9)), (2, (2, 3, 6, 7)), (3, (1, 2, 4, 5, 5))):
    same(f"max_pool{rank}d", None, image, kernel_size=3, stride=2, padding=1, change=apart)
    same(f"max_pool{rank}d", None, image, variant=" ceil", kernel_size=2, stride=3, ceil_mode=True, change=apart)
    same(f"avg_pool{rank}d", None, image, kernel_size=3, stride=2, padding=1)
    same(f"avg_pool{rank}d", None, image, variant=" ceil", kernel_size=3, stride=2, padding=1, ceil_mode=True)
    same(
        *(f"avg_pool{rank}d", None, image),
        variant=" ceil, without padding in the count",
        kernel_size=3,
        stride=3,
        padding=1,
        ceil_mode=True,
        count_include_pad=False,
    )
same("avg_pool2d", None, (2, 3, 6, 7), variant=" by another number", kernel_size=2, divisor_override=3)
same("max_pool2d", None, (3, 6, 7), variant=" unbatched", kernel_size=2, change=apart)
same("adaptive_avg_pool2d", None, (2, 3, 6, 8), output_size=(2, 4))
same("adaptive_avg_pool2d", None, (2, 3, 7, 5), variant=" uneven", output_size=(3, 2))
same("adaptive_max_pool2d", None, (2, 3, 7, 5), output_size=(3, None), change=apart)
case(
    *("adaptive_pool of a sequence", (2, 3, 7)),
    ours=lambda x, backend: ops.adaptive_pool(x, 1, 1, "average", backend),
    theirs=lambda x: functional.adaptive_avg_pool1d(x, 1),
)


def normalised(training, x, weight, bias):
    """Call ours or PyTorch's batch norm with statistics of its own."""
    count = x.shape[1]
    mean = torch.linspace(-1, 1, count, dtype=torch.float32, device=x.device).to(
        torch.promote_types(x.dtype, torch.float32)
    )
    return (x, mean, mean.square() + 0.5, weight, bias, training)


for shape in ((5, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 4, 3)):
    for training in (True, False):
        case(
            *(f"batch_norm of {len(shape)} dims{' in training' if training else ''}", shape, (3,), (3,)),
            ours=lambda *t, backend, on=training: ops.batch_norm(*normalised(on, *t), backend=backend),
            theirs=lambda *t, on=training: functional.batch_norm(*normalised(on, *t)),
        )
case(
    *("instance_norm", (2, 3, 4, 5), (3,), (3,)),
    ours=lambda x, w, b, backend: ops.instance_norm(x, None, None, w, b, backend=backend),
    theirs=lambda x, w, b: functional.instance_norm(x, None, None, w, b),
)
case(
    *("layer_norm", (2, 3, 4, 5), (4, 5), (4, 5)),
    ours=lambda x, w, b, backend: ops.layer_norm(x, (4, 5), w, b, backend=backend),
    theirs=lambda x, w, b: functional.layer_norm(x, (4, 5), w, b),
)
case(
    *("layer_norm without parameters", (3, 7)),
    ours=lambda x, backend: ops.layer_norm(x, 7, backend=backend),
    theirs=lambda x: functional.layer_norm(x, (7,)),
)
case(
    *("layer_norm with a bias alone", (3, 7), (7,)),
    ours=lambda x, b, backend: ops.layer_norm(x, 7, None, b, backend=backend),
    theirs=lambda x, b: functional.layer_norm(x, (7,), None, b),
)
case(
    *("rms_norm", (2, 3, 5), (5,)),
    ours=lambda x, w, backend: ops.rms_norm(x, 5, w, 1e-3, backend=backend),
    theirs=lambda x, w: x * (x.square().mean(-1, keepdim=True) + 1e-3).rsqrt() * w,
)
case(
    *("group_norm", (2, 4, 3, 5), (4,), (4,)),
    ours=lambda x, w, b, backend: ops.group_norm(x, 2, w, b, backend=backend),
    theirs=lambda x, w, b: functional.group_norm(x, 2, w, b),
)
case(
    *("group_norm of vectors", (3, 6), (6,), (6,)),
    ours=lambda x, w, b, backend: ops.group_norm(x, 3, w, b, backend=backend),
    theirs=lambda x, w, b: functional.group_norm(x, 3, w, b),
)

for name in ("relu", "relu6", "sigmoid", "tanh", "elu", "silu"):
    same(name, {"sigmoid": torch.sigmoid, "tanh": torch.tanh}.get(name), (3, 5, 7), change=apart)
same("relu6", None, (3, 5, 7), variant=" above 6", change=lambda tensors: [5 * t for t in apart(tensors)])
same("elu", None, (6,), variant=" of a vector", alpha=0.5, change=apart)
same("relu", None, (), variant=" of a number")
for name in ("softmax", "log_softmax"):
    same(name, None, (3, 5, 4), dim=1)
    same(name, None, (6,), variant=" of a vector", dim=0)
same("local_response_norm", None, (2, 7, 3, 4), size=5, alpha=0.5, beta=0.75, k=2.0)
same("local_response_norm", None, (2, 6, 5), variant=" even", size=4, alpha=0.5)


def network(kind, layers, bidirectional, biases, proj=0):
    """Add a recurrent network's case: PyTorch's module, and ours with its weights."""
    directions = 2 if bidirectional else 1
    sizes = {"LSTM": 4, "GRU": 3}
    features, hidden, gates = 3, 4, sizes.get(kind, 1)
    output = proj or hidden
    shapes = [(5, 2, features), (layers * directions, 2, output)]
    shapes += [(layers * directions, 2, hidden)] if kind == "LSTM" else []
    states = len(shapes)
    for layer in range(layers):
        for _ in range(directions):
            inputs = features if layer == 0 else output * directions
            shapes += [(gates * hidden, inputs), (gates * hidden, output)]
            shapes += [(gates * hidden,)] * 2 if biases else []
            shapes += [(proj, hidden)] if proj else []

    def ours(*t, backend):
        cells = t[2] if kind == "LSTM" else None
        options = {"layers": layers, "bidirectional": bidirectional, "biases": biases}
        y, hy, cy = ops.rnn(t[0], t[1], cells, t[states:], kind, **options, backend=backend)
        return (y, hy, cy) if kind == "LSTM" else (y, hy)

    def theirs(*t):
        options = (biases, layers, 0.0, True, bidirectional, False)
        call = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN_TANH": torch.rnn_tanh, "RNN_RELU": torch.rnn_relu}[kind]
        return call(t[0], t[1:3] if kind == "LSTM" else t[1], t[states:], *options)

    words = f"{kind} of {layers} layers{', both directions' if bidirectional else ''}{'' if biases else ', no biases'}"
    words += ", projected" * bool(proj)
    case(words, *shapes, ours=ours, theirs=theirs)


network("LSTM", 2, True, True)
network("GRU", 2, False, True)
network("RNN_TANH", 1, True, False)
network("LSTM", 1, False, False)
network("LSTM", 2, True, True, 2)
network("LSTM", 1, False, False, 3)

for variant, shapes, options in (
    ("", ((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 7)), {}),
    (" causal", ((2, 3, 5, 4), (2, 3, 5, 4), (2, 3, 5, 4)), {"is_causal": True, "scale": 0.3}),
    (" of one head", ((2, 5, 4), (2, 6, 4), (2, 6, 4)), {}),
    (" with numbers added", ((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 4), (5, 6)), {}),
):
    same("scaled_dot_product_attention", None, *shapes, variant=variant, **options)
case(
    *("scaled_dot_product_attention of shared heads", (1, 4, 5, 4), (1, 2, 6, 4), (1, 2, 6, 4)),
    ours=lambda *t, backend: ops.scaled_dot_product_attention(*t, enable_gqa=True, backend=backend),
    theirs=lambda q, k, v: functional.scaled_dot_product_attention(
        q,
        k.repeat_interleave(2, 1),
        v.repeat_interleave(2, 1),  # enable_gqa is of torch 2.5
    ),
)
case(
    *("scaled_dot_product_attention with a mask", (2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 4)),
    ours=lambda *t, backend: ops.scaled_dot_product_attention(
        *t, torch.ones(5, 6, dtype=torch.bool, device=t[0].device).tril(1), backend=backend
    ),
    theirs=lambda *t: functional.scaled_dot_product_attention(
        *t, torch.ones(5, 6, dtype=torch.bool, device=t[0].device).tril(1)
    ),
)

LABELS = ((1, 2, 2, 0), (3, 1, 0, 0), (4, 3, 1, 2))
LENGTHS = ((7, 5, 7), (3, 2, 4))


def ctc(function, x, reduction, **backend):
    labels = torch.tensor(LABELS, device=x.device)
    steps, lengths = (torch.tensor(n, device=x.device) for n in LENGTHS)
    return function(x.log_softmax(2), labels, steps, lengths, reduction=reduction, **backend)


for reduction in ("none", "mean", "sum"):
    case(
        *(f"ctc_loss, {reduction}", (7, 3, 5)),
        ours=lambda x, backend, how=reduction: ctc(ops.ctc_loss, x, how, backend=backend),
        theirs=lambda x, how=reduction: ctc(functional.ctc_loss, x, how),
    )


def off_centres(tensors):
    """Return an image and places between pixels' centres, some of them outside of it."""
    x, grid = tensors
    return [x, ((grid * 3).round() + 0.37) / 5]


for corners in (True, False):
    same(
        "grid_sample",
        None,
        (2, 3, 4, 5),
        (2, 3, 4, 2),
        change=off_centres,
        variant=f" {corners}",
        align_corners=corners,
    )
same("grid_sample", None, (1, 2, 1, 4), (1, 3, 4, 2), change=off_centres, variant=" of a row", align_corners=False)
