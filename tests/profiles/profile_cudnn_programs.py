"""Programs with cuDNN's names and exactly one mistake each, for tests/profiles/test_profiles_c.py."""

from __future__ import annotations

import contextlib
from typing import Any

from profile_programs import Kit, Mistake

import portadnn as dnn
from portadnn import cudnn
from portadnn.cudnn import (
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
    CUDNN_CONVOLUTION_FWD_NO_WORKSPACE,
    CUDNN_CROSS_CORRELATION,
    CUDNN_DATA_FLOAT,
    CUDNN_DATA_HALF,
    CUDNN_NOT_PROPAGATE_NAN,
    CUDNN_POOLING_MAX,
    CUDNN_TENSOR_NCHW,
    CUDNN_TENSOR_NHWC,
)

COUNT = 8  # results asked for


def descriptor(array: Any, format: int = CUDNN_TENSOR_NCHW, dtype: int = CUDNN_DATA_FLOAT) -> Any:
    desc = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensor4dDescriptor(desc, format, dtype, *array.shape)
    return desc


class Convolution:
    """Descriptors of the kit's convolution."""

    def __init__(self, kit: Kit) -> None:
        self.kit, self.handle = kit, kit.handle
        self.x, self.y = descriptor(kit.x), descriptor(kit.y)
        self.w = cudnn.cudnnCreateFilterDescriptor()
        cudnn.cudnnSetFilter4dDescriptor(self.w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, *kit.w.shape)
        self.conv = cudnn.cudnnCreateConvolutionDescriptor()
        cudnn.cudnnSetConvolution2dDescriptor(self.conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION)

    def find(self) -> tuple[int, list[Any]]:
        kit = self.kit
        given = self.x, kit.x, self.w, kit.w, self.conv, self.y, kit.y
        return cudnn.cudnnFindConvolutionForwardAlgorithmEx(self.handle, *given, COUNT, None, 0)

    def run(self, algo: Any, workspace: Any = None, size: int = 0) -> None:
        kit = self.kit
        first = self.x, kit.x, self.w, kit.w, self.conv
        cudnn.cudnnConvolutionForward(self.handle, 1, *first, algo, workspace, size, 0, self.y, kit.y)


def clean(kit: Kit) -> None:
    conv = Convolution(kit)
    count, perf = conv.find()
    algos = [perf[i].algo for i in range(count)]
    for _ in range(2):
        conv.run(algos[0])
    y = kit.handle.empty((2, 4, 3, 3))
    pool = cudnn.cudnnCreatePoolingDescriptor()
    cudnn.cudnnSetPooling2dDescriptor(pool, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 2, 2, 0, 0, 2, 2)
    small = descriptor(y)
    cudnn.cudnnPoolingForward(kit.handle, pool, 1, conv.y, kit.y, 0, small, y)
    dx = kit.handle.empty(kit.y.shape)
    cudnn.cudnnPoolingBackward(kit.handle, pool, 1, small, y, small, y, conv.y, kit.y, 0, conv.y, dx)
    add = cudnn.cudnnCreateOpTensorDescriptor()
    cudnn.cudnnSetOpTensorDescriptor(add, 0, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN)
    cudnn.cudnnOpTensor(kit.handle, add, 1, conv.y, dx, 1, conv.y, kit.y, 0, conv.y, dx)
    cudnn.cudnnDestroyOpTensorDescriptor(add)
    cudnn.cudnnGetVersion()


def no_find(kit: Kit) -> None:
    Convolution(kit).run(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM)


def find_without_buffers(kit: Kit) -> None:
    c = Convolution(kit)
    _, perf = cudnn.cudnnFindConvolutionForwardAlgorithm(kit.handle, c.x, c.w, c.conv, c.y, COUNT)
    c.run(perf[0].algo)


def get(kit: Kit) -> None:
    c = Convolution(kit)
    cudnn.cudnnGetConvolutionForwardAlgorithm_v7(kit.handle, c.x, c.w, c.conv, c.y, COUNT)


def preference(kit: Kit) -> None:
    c = Convolution(kit)
    kind = CUDNN_CONVOLUTION_FWD_NO_WORKSPACE
    cudnn.cudnnGetConvolutionForwardAlgorithm(kit.handle, c.x, c.w, c.conv, c.y, kind, 0)


def size_by_algorithm(kit: Kit) -> None:
    c = Convolution(kit)
    _, perf = c.find()
    cudnn.cudnnGetConvolutionForwardWorkspaceSize(kit.handle, c.x, c.w, c.conv, c.y, perf[0].algo)


def workspace_without_size(kit: Kit) -> None:
    c = Convolution(kit)
    _, perf = c.find()
    c.run(perf[0].algo, kit.handle.empty_bytes(64), 0)


def size_without_workspace(kit: Kit) -> None:
    c = Convolution(kit)
    _, perf = c.find()
    with contextlib.suppress(dnn.BadParam):
        c.run(perf[0].algo, None, 64)


def status_field(kit: Kit) -> None:
    _, perf = Convolution(kit).find()
    assert perf[0].status == 0


def math_field(kit: Kit) -> None:
    _, perf = Convolution(kit).find()
    _ = perf[0].mathType


def beyond_the_count(kit: Kit) -> None:
    kit.wanting()
    c = Convolution(kit)
    given = c.x, kit.x, c.w, kit.w, c.conv, c.y, kit.y
    size = kit.size()
    space = kit.handle.empty_bytes(size)
    _, perf = cudnn.cudnnFindConvolutionForwardAlgorithmEx(kit.handle, *given, COUNT, space, size)
    _ = perf[2].time  # two algorithms succeed


def groups_before_set(kit: Kit) -> None:
    conv = cudnn.cudnnCreateConvolutionDescriptor()
    cudnn.cudnnSetConvolutionGroupCount(conv, 2)
    cudnn.cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION)


def groups_after_set(kit: Kit) -> None:
    conv = cudnn.cudnnCreateConvolutionDescriptor()
    cudnn.cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION)
    cudnn.cudnnSetConvolutionGroupCount(conv, 2)


def nd_descriptor(kit: Kit) -> None:
    desc = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, 4, (2, 3, 4, 4), (48, 16, 4, 1))


def half(kit: Kit) -> None:
    x = kit.tensor(2, 3, 4, 4, dtype="float16")
    desc = descriptor(x, dtype=CUDNN_DATA_HALF)
    cudnn.cudnnScaleTensor(kit.handle, desc, x, 2)


def nhwc(kit: Kit) -> None:
    x = kit.tensor(2, 3, 4, 4, format="nhwc")
    cudnn.cudnnScaleTensor(kit.handle, descriptor(x, CUDNN_TENSOR_NHWC), x, 2)


def transform(kit: Kit) -> None:
    desc = descriptor(kit.x)
    cudnn.cudnnTransformTensor(kit.handle, 1, desc, kit.x, 0, desc, kit.handle.empty(kit.x.shape))


BOTH = ("miopen-1", "miopen-3")
MISTAKES = (
    Mistake("K1", nd_descriptor),
    Mistake("K1", nhwc),
    Mistake("K2", half),
    Mistake("K6", preference, BOTH),
    Mistake("K8", transform),
    Mistake("S01", no_find, BOTH),
    Mistake("S04", get, BOTH),
    Mistake("S05", find_without_buffers, BOTH),
    Mistake("S06", size_by_algorithm, BOTH),
    Mistake("S08", workspace_without_size, BOTH),
    Mistake("S08", size_without_workspace, BOTH),
    Mistake("S11", beyond_the_count, BOTH),
    Mistake("S12", status_field, BOTH),
    Mistake("S12", math_field, (*BOTH, "cudnn-5")),
    Mistake("S16", groups_before_set, ("miopen-3",)),
    Mistake("F01", get, ("cudnn-5",)),
    Mistake("F01", preference, ("cudnn-9",)),
    Mistake("F01", groups_after_set, ("miopen-1", "cudnn-5")),
)
HARMLESS = ((clean, (*BOTH, "cudnn-5", "cudnn-9")), (groups_after_set, ("miopen-3", "cudnn-9")))
