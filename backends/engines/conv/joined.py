"""Convolutions of one kind on NVIDIA's tensor cores, each on its own tensors, in one launch (conv/mma.cu, JOINED)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from portadnn.enums import DataType
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionForward
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward

from ...base import Arg, ConstantArg, Device, Launch, ScalarArg, TensorArg
from .epilogue import epilogue_args, output
from .matrix_units import MMA
from .tensor_core_choice import image_setup
from .tensor_core_defines import product_defines

_IMAGES = {ConvolutionForward: "x", ConvolutionBiasActivationForward: "x", ConvolutionBackwardData: "dy"}
MOST = 4  # of one launch


def joined(problem: Convolution, count: int, device: Device) -> Launch | None:
    """Return the launch of so many convolutions, up to `MOST`; None where each takes more than the one that multiplies.

    Its tensors are those of `problem`, so many times one behind the other.
    """
    name = _IMAGES.get(type(problem))
    setup = image_setup(problem, name, device.info) if name is not None and 2 <= count <= MOST else None
    if setup is None or setup.unit is not MMA:
        return None
    choice, image = setup.choice, setup.images[0]
    if choice.has_parts or choice.product.across or setup.packs_filter or not image.native:
        return None
    names = problem.tensor_names()
    own = (TensorArg(image.index), TensorArg(names.index("w")), output(problem))
    more = [arg for arg in epilogue_args(problem) if isinstance(arg, TensorArg)]
    args: list[Arg] = [
        *own,
        ConstantArg(np.uint64(0)),
        ScalarArg(0, DataType.FLOAT),
        ScalarArg(1, DataType.FLOAT),
        *more,
    ]
    for number in range(1, count):
        args += [replace(arg, index=arg.index + number * len(names)) for arg in (*own, *more)]
    kernel = device.compile("cuda/conv/mma.cu", "conv_mma", {**product_defines(setup, False), "JOINED": count})
    return Launch(kernel, (count * choice.work_groups,), (choice.tile.items,), tuple(args), choice.local_bytes)
