"""Programs that compute nothing: what Get functions say of descriptors, sizes, the places of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .sides import Side


def _numbers(found: Any) -> list[float]:
    values = found if isinstance(found, tuple) else (found,)
    return [float(n) for value in values for n in (value if isinstance(value, tuple) else (value,))]


def _tensor(side: Side) -> list[float]:
    draw = side.draw
    kind, count = draw.choice(("FLOAT", "DOUBLE", "HALF", "INT8", "INT32", "UINT8", "BFLOAT16")), draw.randint(3, 8)
    dims = tuple(draw.randint(1, 5) for _ in range(count))
    desc = side.tensor(kind, dims, draw.choice((0, 1)))
    asked = draw.randint(0, 8)
    found = (*side.call("cudnnGetTensorNdDescriptor", desc, asked), side.call("cudnnGetTensorSizeInBytes", desc))
    return _numbers((*found, *side.call("cudnnGetTensor4dDescriptor", desc)))


def _vectors(side: Side) -> list[float]:
    draw = side.draw
    kind = draw.choice(("INT8x4", "UINT8x4", "INT8x32"))
    dims = draw.randint(1, 3), (32 if "32" in kind else 4) * draw.randint(1, 3), draw.randint(1, 5), draw.randint(1, 5)
    desc = side.tensor(kind, dims) if draw.random() < 0.5 else side.filter(kind, dims)
    if kind == "INT8x32":
        side.tag("filters of 32")
    what = "Tensor" if "Tensor" in side.answer.calls[-1][0] else "Filter"
    found = side.call(f"cudnnGet{what}4dDescriptor", desc)
    return _numbers((*found, side.call(f"cudnnGet{what}SizeInBytes", desc)))


def _filter(side: Side) -> list[float]:
    draw = side.draw
    kind, count = draw.choice(("FLOAT", "DOUBLE", "HALF", "INT8", "UINT8", "BFLOAT16")), draw.randint(3, 8)
    desc = side.filter(kind, tuple(draw.randint(1, 5) for _ in range(count)), draw.choice((0, 1)))
    found = (*side.call("cudnnGetFilterNdDescriptor", desc, draw.randint(1, 8)),)
    size = side.call("cudnnGetFilterSizeInBytes", desc)
    return _numbers((*found, size, *side.call("cudnnGetFilter4dDescriptor", desc)))


def _convolution(side: Side) -> list[float]:
    draw, count = side.draw, side.draw.randint(1, 6)
    arrays = [tuple(draw.randint(least, 4) for _ in range(count)) for least in (0, 1, 1)]
    last = draw.choice((0, 1)), draw.choice((0, 1))
    desc = side.descriptor("Convolution", "cudnnSetConvolutionNdDescriptor", count, *arrays, *last)
    groups, math_type = draw.randint(1, 9), draw.choice((0, 1, 2, 3))
    side.call("cudnnSetConvolutionGroupCount", desc, groups)
    side.call("cudnnSetConvolutionMathType", desc, math_type)
    side.call("cudnnSetConvolutionReorderType", desc, draw.choice((0, 1)))
    found = side.call("cudnnGetConvolutionNdDescriptor", desc, count)
    words = found[0], *(array[:count] for array in found[1:4]), *found[4:]
    settings = [side.call(f"cudnnGetConvolution{name}", desc) for name in ("GroupCount", "MathType", "ReorderType")]
    return _numbers((*words, *settings, *side.call("cudnnGetConvolution2dDescriptor", desc)[:7]))


def _pooling(side: Side) -> list[float]:
    draw, count = side.draw, side.draw.randint(1, 6)
    arrays = [tuple(draw.randint(least, 4) for _ in range(count)) for least in (1, 0, 1)]
    first = draw.choice((0, 1, 2, 3)), draw.choice((0, 1)), count
    desc = side.descriptor("Pooling", "cudnnSetPoolingNdDescriptor", *first, *arrays)
    found = side.call("cudnnGetPoolingNdDescriptor", desc, draw.randint(0, 6))
    return _numbers((*found, *side.call("cudnnGetPooling2dDescriptor", desc)))


def _recurrent(side: Side) -> list[float]:
    draw = side.draw
    kind, hidden, mode = draw.choice((0, 1, 2)), draw.randint(1, 9), draw.choice((0, 1, 2, 3))
    projected = draw.randint(1, hidden) if mode == 2 and draw.random() < 0.5 else hidden
    setting = (
        0,
        mode,
        draw.choice((0, 1, 2, 3)),
        draw.choice((0, 1)),
        draw.choice((0, 1)),
        kind,
        0 if kind == 2 else kind,
    )
    last = draw.choice((0, 1)), draw.randint(1, 9), hidden, projected, draw.randint(1, 4), None, draw.choice((0, 1))
    rnn = side.descriptor("RNN", "cudnnSetRNNDescriptor_v8", *setting, *last)
    found = list(side.call("cudnnGetRNNDescriptor_v8", rnn))
    found = [*found[:12], found[-1]]  # without the descriptor of dropout
    limits = sorted(draw.choice((-1.0, 0.5, 0.0, 2.0)) for _ in "lr")
    if draw.random() < 0.5:
        side.call("cudnnRNNSetClip_v8", rnn, draw.choice((0, 1)), draw.choice((0, 1)), *limits)
    else:
        side.call("cudnnRNNSetClip_v9", rnn, draw.choice((0, 1)), *limits)
        return _numbers((*found, *side.call("cudnnRNNGetClip_v9", rnn)))
    return _numbers((*found, *side.call("cudnnRNNGetClip_v8", rnn)))


def _sequences(side: Side) -> list[float]:
    draw = side.draw
    kind, layout, steps, batch = draw.choice((0, 1, 2)), draw.choice((0, 1, 2)), draw.randint(1, 6), draw.randint(1, 6)
    lengths = tuple(sorted((draw.randint(1, steps) for _ in range(batch)), reverse=True))
    lengths = (steps, *lengths[1:])
    setting = kind, layout, steps, batch, draw.randint(1, 9), lengths, None
    desc = side.descriptor("RNNData", "cudnnSetRNNDataDescriptor", *setting)
    found = side.call("cudnnGetRNNDataDescriptor", desc, batch)
    return _numbers((*found[:5], found[5][:batch]))


def _attended(side: Side) -> list[float]:
    draw = side.draw
    kind, common = draw.choice((0, 1, 2)), draw.randint(1, 8)
    projected = draw.choice((0, 4))
    sizes = (common, common if not projected else draw.randint(1, 8), draw.randint(1, 8))
    projections = projected, projected, draw.choice((0, 3)), draw.choice((0, 5))
    first = draw.choice((0, 1, 2, 3)), draw.randint(1, 9), draw.choice((1.0, 0.25)), kind, 0 if kind == 2 else kind, 0
    last = tuple(draw.randint(1, 9) for _ in range(4))
    if first[0] % 2 and last[-1] > 1:
        side.tag("one to one with beams")
    desc = side.descriptor("Attn", "cudnnSetAttnDescriptor", *first, None, None, *sizes, *projections, *last)
    found = side.call("cudnnGetAttnDescriptor", desc)
    return _numbers(tuple(0.0 if value is None else value for value in found))


def _transform(side: Side) -> list[float]:
    draw, count = side.draw, side.draw.randint(3, 8)
    pads = [tuple(draw.randint(0, 3) for _ in range(count)) for _ in "ba"]
    fold = tuple(draw.randint(1, 3) for _ in range(count - 2))
    setting = count, draw.choice((0, 1)), *pads, fold, draw.choice((0, 1))
    desc = side.descriptor("TensorTransform", "cudnnSetTensorTransformDescriptor", *setting)
    found = side.call("cudnnGetTensorTransformDescriptor", desc, count)
    lengths = count, count, count - 2
    arrays = (array[:length] for array, length in zip(found[1:4], lengths, strict=True))
    return _numbers((found[0], *arrays, found[4]))


def _losses(side: Side) -> list[float]:
    draw = side.draw
    version = draw.choice(("", "Ex", "_v8", "_v9"))
    last = {"": 0, "Ex": 2, "_v8": 3, "_v9": 3}[version]
    setting = (draw.choice((0, 1)), draw.choice((0, 1)), draw.randint(0, 300))[:last]
    desc = side.descriptor("CTCLoss", f"cudnnSetCTCLossDescriptor{version}", 0, *setting)
    return _numbers(side.call(f"cudnnGetCTCLossDescriptor{version}", desc))


def _others(side: Side) -> list[float]:
    draw, which = side.draw, side.draw.randrange(4)
    if which == 0:
        setting = draw.randrange(9), draw.choice((0, 1, 2)), draw.choice((0, 1)), draw.choice((0, 1)), draw.randrange(4)
        desc = side.descriptor("ReduceTensor", "cudnnSetReduceTensorDescriptor", *setting)
        return _numbers(side.call("cudnnGetReduceTensorDescriptor", desc))
    if which == 1:
        numbers = draw.choice(range(7)), draw.choice((0, 1)), draw.choice((0.0, -1.0, 6.0, 1e300, np.inf, -np.inf))
        desc = side.descriptor("Activation", "cudnnSetActivationDescriptor", *numbers)
        side.call("cudnnSetActivationDescriptorSwishBeta", desc, draw.choice((0.5, 2.0, -1.0, 0.0)))
        found = side.call("cudnnGetActivationDescriptor", desc)
        return _numbers((*found, side.call("cudnnGetActivationDescriptorSwishBeta", desc)))
    if which == 2:
        numbers = (
            draw.randint(1, 16),
            draw.choice((1e-4, 0.0, -1.0)),
            draw.choice((0.75, 0.01)),
            draw.choice((2.0, 1e-5)),
        )
        desc = side.descriptor("LRN", "cudnnSetLRNDescriptor", *numbers)
        return _numbers(side.call("cudnnGetLRNDescriptor", desc))
    numbers = draw.randrange(6), draw.choice((0, 1, 2)), draw.choice((0, 1))
    desc = side.descriptor("OpTensor", "cudnnSetOpTensorDescriptor", *numbers)
    return _numbers(side.call("cudnnGetOpTensorDescriptor", desc))


KINDS: tuple[Callable[[Side], list[float]], ...] = (
    *(_tensor, _vectors, _filter, _convolution, _pooling, _recurrent, _sequences),
    *(_attended, _transform, _losses, _others),
)


def round_trip(side: Side) -> None:
    """What a descriptor was set to, as Get functions tell it."""
    found = side.draw.choice(KINDS)(side)
    side.output("found", found)


def parameters(side: Side) -> None:
    """cudnnGetRNNWeightParams of all layers, and cudnnGetRNNWeightSpaceSize."""
    draw = side.draw
    kind, mode, hidden, layers = (
        draw.choice((0, 1, 2)),
        draw.choice((0, 1, 2, 3)),
        draw.randint(1, 6),
        draw.randint(1, 3),
    )
    skip, both, bias = draw.choice((0, 0, 1)), draw.choice((0, 1)), draw.choice((0, 1, 2, 3))
    projected = draw.randint(1, hidden) if mode == 2 and not skip and draw.random() < 0.4 else hidden
    features = hidden if skip else draw.randint(1, 6)
    setting = 0, mode, bias, both, skip, kind, 0 if kind == 2 else kind, draw.choice((0, 1))
    rnn = side.descriptor(
        "RNN", "cudnnSetRNNDescriptor_v8", *setting, features, hidden, projected, layers, None, draw.choice((0, 1))
    )
    size = side.call("cudnnGetRNNWeightSpaceSize", side.handle, rnn)
    side.output("weight space", [size])
    base = side.put(np.zeros(size, np.uint8), "weights")
    gates = {0: 2, 1: 2, 2: 8, 3: 6}[mode] + (projected < hidden)
    found: list[float] = []
    for layer in range(layers * (1 + both)):
        for gate in range(gates):
            descs = side.created("Tensor"), side.created("Tensor")
            given = side.handle, rnn, layer, size, base, gate
            parts = side.call("cudnnGetRNNWeightParams", *given, *descs)
            for part, desc in zip(parts, descs, strict=True):
                there = part is not None and side.address(part) != 0
                found.append(side.address(part) - side.address(base.part) if there else -1)
                if there:
                    found += _numbers(side.call("cudnnGetTensorNdDescriptor", desc, 3))
    side.output("places", found)


PROGRAMS = {
    "descriptors, set and got": round_trip,
    "cudnnGetRNNWeightParams": parameters,
}
