"""Programs of whole tensors, and of descriptors: what they hold when fresh, what they take, Destroy of NULL."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .layers import KINDS, Tensors, given
from .sides import Side

GETS: dict[str, tuple[str, tuple[int, ...]]] = {  # Get functions, what they read, and their further arguments
    "cudnnGetTensor4dDescriptor": ("Tensor", ()),
    "cudnnGetTensorNdDescriptor": ("Tensor", (4,)),
    "cudnnGetTensorSizeInBytes": ("Tensor", ()),
    "cudnnGetFilter4dDescriptor": ("Filter", ()),
    "cudnnGetFilterNdDescriptor": ("Filter", (4,)),
    "cudnnGetFilterSizeInBytes": ("Filter", ()),
    "cudnnGetConvolution2dDescriptor": ("Convolution", ()),
    "cudnnGetConvolutionNdDescriptor": ("Convolution", (2,)),
    "cudnnGetConvolutionMathType": ("Convolution", ()),
    "cudnnGetConvolutionGroupCount": ("Convolution", ()),
    "cudnnGetConvolutionReorderType": ("Convolution", ()),
    "cudnnGetPooling2dDescriptor": ("Pooling", ()),
    "cudnnGetPoolingNdDescriptor": ("Pooling", (2,)),
    "cudnnGetActivationDescriptor": ("Activation", ()),
    "cudnnGetActivationDescriptorSwishBeta": ("Activation", ()),
    "cudnnGetLRNDescriptor": ("LRN", ()),
    "cudnnGetOpTensorDescriptor": ("OpTensor", ()),
    "cudnnGetReduceTensorDescriptor": ("ReduceTensor", ()),
    "cudnnGetCTCLossDescriptor": ("CTCLoss", ()),
    "cudnnGetCTCLossDescriptorEx": ("CTCLoss", ()),
    "cudnnGetCTCLossDescriptor_v8": ("CTCLoss", ()),
    "cudnnGetCTCLossDescriptor_v9": ("CTCLoss", ()),
    "cudnnGetTensorTransformDescriptor": ("TensorTransform", (4,)),
}
DESTROYED = (
    *(
        "Tensor",
        "Filter",
        "Convolution",
        "Pooling",
        "Activation",
        "LRN",
        "OpTensor",
        "ReduceTensor",
        "Dropout",
        "CTCLoss",
    ),
    *("SpatialTransformer", "RNN", "RNNData", "SeqData", "Attn", "TensorTransform"),
)


def _numbers(found: Any) -> list[float]:
    values = found if isinstance(found, tuple) else (found,)
    return [float(n) for value in values for n in (value if isinstance(value, tuple) else (value,))]


def fresh(side: Side) -> None:
    """A Get function of a descriptor that was only created."""
    name = side.draw.choice(sorted(GETS))
    kind, more = GETS[name]
    side.tag("fresh descriptor")
    found = side.call(name, side.created(kind), *more)
    several = found if isinstance(found, tuple) else (found,)
    side.output(name, _numbers(tuple(one for one in several if not isinstance(one, tuple))))


def destroyed(side: Side) -> None:
    """Destroy of NULL."""
    side.call(f"cudnnDestroy{side.draw.choice(DESTROYED)}Descriptor", None)


def _sizes(side: Side, count: int, least: int, most: int) -> tuple[int, ...]:
    """Return sizes, in few programs with one that is odd."""
    sizes = [side.draw.randint(least, most) for _ in range(count)]
    if side.draw.random() < 0.4:
        odd = side.draw.choice((0, -1, 1 << 16))
        sizes[side.draw.randrange(count)] = odd
        if odd < 1:
            side.tag("of 0" if odd == 0 else "below 0")
    return tuple(sizes)


def setting(side: Side) -> None:
    """A Set function with sizes that may be odd, and what Get says of it."""
    draw, which = side.draw, side.draw.randrange(9)
    number = draw.choice((0, 1, 2, 3, 9))
    if which == 0:
        desc = side.descriptor(
            "Tensor", "cudnnSetTensor4dDescriptor", draw.choice((0, 1)), number, *_sizes(side, 4, 1, 9)
        )
        found = side.call("cudnnGetTensor4dDescriptor", desc)
    elif which == 1:
        sizes = (*_sizes(side, 4, 1, 9), *_sizes(side, 4, 1, 99))
        desc = side.descriptor("Tensor", "cudnnSetTensor4dDescriptorEx", number, *sizes)
        found = (*side.call("cudnnGetTensor4dDescriptor", desc), side.call("cudnnGetTensorSizeInBytes", desc))
    elif which == 2:
        count = draw.choice((2, 3, 4, 5, 8, 9))
        dims, strides = _sizes(side, count, 1, 4), _sizes(side, count, 1, 99)
        if count == 2:
            side.tag("two dims")
        desc = side.descriptor("Tensor", "cudnnSetTensorNdDescriptor", number, count, dims, strides)
        found = side.call("cudnnGetTensorNdDescriptor", desc, draw.choice((count, 2, 8)))
    elif which == 3:
        count = draw.choice((2, 3, 4, 5, 8, 9))
        sizes = draw.choice((0, 1)), count, _sizes(side, count, 1, 4)
        desc = side.descriptor("Filter", "cudnnSetFilterNdDescriptor", number, *sizes)
        found = (*side.call("cudnnGetFilterNdDescriptor", desc, 8), side.call("cudnnGetFilterSizeInBytes", desc))
    elif which == 4:
        if number == 9:
            side.tag("BFLOAT16")
        numbers = *_sizes(side, 2, 0, 3), *_sizes(side, 4, 1, 3)
        desc = side.descriptor("Convolution", "cudnnSetConvolution2dDescriptor", *numbers, draw.choice((0, 1)), number)
        found = side.call("cudnnGetConvolution2dDescriptor", desc)[:7]
    elif which == 5:
        numbers = *_sizes(side, 2, 1, 3), *_sizes(side, 2, 0, 2), *_sizes(side, 2, 1, 3)
        first = draw.choice((0, 1, 2, 3)), draw.choice((0, 1))
        desc = side.descriptor("Pooling", "cudnnSetPooling2dDescriptor", *first, *numbers)
        found = side.call("cudnnGetPooling2dDescriptor", desc)
    elif which == 6:
        numbers = (
            draw.choice((0, 1, 5, 16, 17)),
            draw.choice((1e-4, 0.0, -1.0)),
            *(draw.choice((0.75, 0.0, 1e-6, -1.0)) for _ in "bk"),
        )
        desc = side.descriptor("LRN", "cudnnSetLRNDescriptor", *numbers)
        found = side.call("cudnnGetLRNDescriptor", desc)
    elif which == 7:
        numbers = draw.choice((*range(7), 9)), draw.choice((0, 1, 2)), draw.choice((0.0, -1.0, 6.0, np.inf))
        desc = side.descriptor("Activation", "cudnnSetActivationDescriptor", *numbers)
        found = side.call("cudnnGetActivationDescriptor", desc)
    else:
        numbers = draw.choice((*range(6), 9)), number, draw.choice((0, 1, 2))
        desc = side.descriptor("OpTensor", "cudnnSetOpTensorDescriptor", *numbers)
        found = side.call("cudnnGetOpTensorDescriptor", desc)
    side.output("found", _numbers(found))


def _broadcast(side: Side, dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(side.draw.choice((1, size)) for size in dims)


def operation(side: Side) -> None:
    """cudnnOpTensor of every operation, with broadcast b, also of NaN and infinities."""
    draw, kind = side.draw, side.draw.choice(KINDS)
    op, nans = draw.choice((0, 1, 2, 3, 4, 5)), draw.choice((0, 1))
    compute = 1 if kind == "DOUBLE" else 0
    desc = side.descriptor("OpTensor", "cudnnSetOpTensorDescriptor", op, compute, nans)
    dims = tuple(draw.randint(1, 5) for _ in range(draw.choice((4, 4, 5))))
    tensors = Tensors(side, kind)
    layout = draw.choice((0, 0, 1))
    if op > 3:
        side.tag("no b")
    a_desc, a = tensors.add("a", given(side, kind, dims), layout)
    second = given(side, kind, _broadcast(side, dims))
    if op < 4 and not np.isfinite(second).all():
        side.tag("no times NaN")
    b_desc, b = tensors.add("b", second, layout)
    c_desc, c = tensors.add("c", given(side, kind, dims, 0), layout, output=True)
    numbers = tensors.number(1, 1, 2, -1), tensors.number(1, 1, 2, 0), tensors.number(0, 0, 1)
    last = numbers[1], b_desc, b, numbers[2], c_desc, c
    side.call("cudnnOpTensor", side.handle, desc, numbers[0], a_desc, a, *last)
    tensors.compare("c", length=4, terms=512.0 if op == 1 else 64.0)


def whole(side: Side) -> None:
    """cudnnAddTensor, cudnnSetTensor and cudnnScaleTensor."""
    draw, kind = side.draw, side.draw.choice(KINDS)
    dims, tensors = tuple(draw.randint(1, 5) for _ in range(draw.choice((4, 4, 5)))), Tensors(side, kind)
    layout, which = draw.choice((0, 0, 1, 2)), draw.randrange(3)
    content = given(side, kind, dims)
    if which == 2 and not np.isfinite(content).all():
        side.tag("no times NaN")
    y_desc, y = tensors.add("y", content, layout, output=True)
    if which == 0:
        a_desc, a = tensors.add("a", given(side, kind, _broadcast(side, dims)), min(layout, 1))
        side.call(
            "cudnnAddTensor", side.handle, tensors.number(1, 1, 2), a_desc, a, tensors.number(1, 0, 0.5), y_desc, y
        )
    elif which == 1:
        value = tensors.number(0.0, 1.5, np.inf, np.nan)
        side.call("cudnnSetTensor", side.handle, y_desc, y, value)
    else:
        side.call("cudnnScaleTensor", side.handle, y_desc, y, tensors.number(0, 1, 2, 0.5, np.nan))
    tensors.compare("y", length=4)


def sizes(side: Side) -> None:
    """Sizes of results of convolutions and pooling, also of windows that do not fit."""
    draw = side.draw
    dims = draw.randint(1, 3), draw.randint(1, 3), draw.randint(1, 6), draw.randint(1, 6)
    x = side.tensor("FLOAT", dims)
    padding, stride, dilation = ([draw.choice(c) for _ in range(2)] for c in ((0, 1, 2, 4), (1, 2, 3), (1, 1, 2)))
    if draw.random() < 0.5:
        numbers = *padding, *stride, *dilation
        desc = side.descriptor("Convolution", "cudnnSetConvolution2dDescriptor", *numbers, 1, 0)
        groups = draw.choice((1, 1, 2))
        if groups > 1:
            side.tag("groups")
        side.call("cudnnSetConvolutionGroupCount", desc, groups)
        w = side.filter(
            "FLOAT", (draw.randint(1, 4), draw.choice((dims[1], dims[1], 1, 2)), draw.randint(1, 4), draw.randint(1, 4))
        )
        found = side.call("cudnnGetConvolution2dForwardOutputDim", desc, x, w)
    else:
        window = [draw.randint(1, 5) for _ in range(2)]
        numbers = *window, *padding, *stride
        desc = side.descriptor("Pooling", "cudnnSetPooling2dDescriptor", draw.choice((0, 1)), 0, *numbers)
        found = side.call("cudnnGetPooling2dForwardOutputDim", desc, x)
    side.output("dims", _numbers(tuple(found)))
    assert math.prod(dims)


PROGRAMS = {
    "fresh descriptors": fresh,
    "cudnnDestroy* of NULL": destroyed,
    "cudnnSet*Descriptor": setting,
    "cudnnOpTensor": operation,
    "cudnnAddTensor and the like": whole,
    "sizes of results": sizes,
}
