"""Programs with MIOpen's names and exactly one mistake each, for tests/profiles/test_profiles_c.py."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from profile_programs import Kit, Mistake

import portadnn as dnn
from portadnn import miopen
from portadnn.miopen import (
    miopenActivationCLIPPEDRELU,
    miopenConvolution,
    miopenFloat,
    miopenHalf,
    miopenLRNCrossChannel,
    miopenPoolingAverage,
    miopenPoolingMax,
)


@contextlib.contextmanager
def refused_anyway() -> Iterator[None]:
    """Let pass what portadnn.miopen refuses by itself."""
    with contextlib.suppress(dnn.BadParam):
        yield


def descriptor(array: Any, dtype: int = miopenFloat) -> Any:
    desc = miopen.miopenCreateTensorDescriptor()
    miopen.miopenSet4dTensorDescriptor(desc, dtype, *array.shape)
    return desc


class Convolution:
    """Descriptors of the kit's convolution, and the sequence that MIOpen wants."""

    def __init__(self, kit: Kit) -> None:
        self.kit, self.handle = kit, kit.handle
        self.x, self.w, self.y = descriptor(kit.x), descriptor(kit.w), descriptor(kit.y)
        self.conv = miopen.miopenCreateConvolutionDescriptor()
        miopen.miopenInitConvolutionDescriptor(self.conv, miopenConvolution, 1, 1, 1, 1, 1, 1)
        self.size, self.workspace = 0, None

    def find(self) -> Any:
        kit = self.kit
        size = miopen.miopenConvolutionForwardGetWorkSpaceSize(self.handle, self.w, self.x, self.conv, self.y)
        self.size, self.workspace = size, kit.handle.empty_bytes(size)
        given = self.x, kit.x, self.w, kit.w, self.conv, self.y, kit.y
        count, perf = miopen.miopenFindConvolutionForwardAlgorithm(self.handle, *given, 4, self.workspace, size, False)
        assert count == len(perf)
        return perf[0].fwd_algo

    def run(self, algo: Any) -> None:
        kit = self.kit
        first = self.x, kit.x, self.w, kit.w, self.conv
        miopen.miopenConvolutionForward(self.handle, 1, *first, algo, 0, self.y, kit.y, self.workspace, self.size)


class Pool:
    """A pooling of the kit's x, with a workspace."""

    def __init__(self, kit: Kit, mode: Any = miopenPoolingMax) -> None:
        self.kit, self.handle = kit, kit.handle
        self.out, self.dx = kit.handle.empty((2, 3, 3, 3)), kit.handle.empty(kit.x.shape)
        self.x, self.y = descriptor(kit.x), descriptor(self.out)
        self.pool = miopen.miopenCreatePoolingDescriptor()
        miopen.miopenSet2dPoolingDescriptor(self.pool, mode, 2, 2, 0, 0, 2, 2)
        self.workspace = self.memory()

    def memory(self) -> Any:
        return self.handle.empty_bytes(miopen.miopenPoolingGetWorkSpaceSize(self.y))

    def forward(self, do_backward: bool = True) -> None:
        workspace, size = (self.workspace, self.out.size) if do_backward else (None, 0)
        given = self.x, self.kit.x, 0, self.y, self.out, do_backward, workspace, size
        miopen.miopenPoolingForward(self.handle, self.pool, 1, *given)

    def backward(self, workspace: Any) -> None:
        first = self.y, self.out, self.y, self.out, self.x, self.kit.x
        miopen.miopenPoolingBackward(self.handle, self.pool, 1, *first, 0, self.x, self.dx, workspace)


class Lrn(Pool):
    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self.out = kit.handle.empty(kit.x.shape)
        self.y = self.x
        self.lrn = miopen.miopenCreateLRNDescriptor()
        miopen.miopenSetLRNDescriptor(self.lrn, miopenLRNCrossChannel, 5, 1e-4, 0.75, 1.0)
        self.workspace = self.memory()

    def memory(self) -> Any:
        return self.handle.empty_bytes(miopen.miopenLRNGetWorkSpaceSize(self.y))

    def forward(self, do_backward: bool = True) -> None:
        workspace = self.workspace if do_backward else None
        given = self.x, self.kit.x, 0, self.y, self.out, do_backward, workspace
        miopen.miopenLRNForward(self.handle, self.lrn, 1, *given)

    def backward(self, workspace: Any) -> None:
        first = self.y, self.out, self.y, self.out, self.x, self.kit.x
        miopen.miopenLRNBackward(self.handle, self.lrn, 1, *first, 0, self.x, self.dx, workspace)


def clean(kit: Kit) -> None:
    conv = Convolution(kit)
    algo = conv.find()
    for _ in range(2):
        conv.run(algo)
    for layer in (Pool(kit), Lrn(kit)):
        for _ in range(2):
            layer.forward()
            layer.backward(layer.workspace)
    average = Pool(kit, miopenPoolingAverage)
    average.forward(False)
    average.backward(None)


def within_channel(kit: Kit) -> None:
    """LRN within channels, which portadnn computes by divisive normalisation."""
    layer = Lrn(kit)
    miopen.miopenSetLRNDescriptor(layer.lrn, miopen.miopenLRNWithinChannel, 5, 1e-4, 0.75, 1.0)
    layer.forward()
    layer.backward(layer.workspace)


def pooled_for_inference(kit: Kit) -> None:
    pool = Pool(kit)
    pool.forward(False)
    with refused_anyway():
        pool.backward(pool.workspace)


def other_workspace(kit: Kit) -> None:
    pool = Pool(kit)
    pool.forward()
    with refused_anyway():
        pool.backward(pool.memory())


def no_workspace(kit: Kit) -> None:
    pool = Pool(kit)
    pool.forward()
    with refused_anyway():
        pool.backward(None)


def overwritten_workspace(kit: Kit) -> None:
    """Two layers of one shape share a workspace: portadnn.miopen tells problems apart, not tensors."""
    first, second = Pool(kit), Pool(Kit(kit.handle))
    second.workspace = first.workspace
    first.forward()
    second.forward()
    first.backward(first.workspace)


def never_pooled(kit: Kit) -> None:
    pool = Pool(kit)
    with refused_anyway():
        pool.backward(pool.workspace)


def lrn_for_inference(kit: Kit) -> None:
    lrn = Lrn(kit)
    lrn.forward(False)
    with refused_anyway():
        lrn.backward(lrn.workspace)


def lrn_overwritten(kit: Kit) -> None:
    first, second = Lrn(kit), Lrn(Kit(kit.handle))
    second.workspace = first.workspace
    first.forward()
    second.forward()
    first.backward(first.workspace)


def groups_before_init(kit: Kit) -> None:
    conv = miopen.miopenCreateConvolutionDescriptor()
    with contextlib.suppress(dnn.DnnError):  # portadnn.miopen may refuse it before Init
        miopen.miopenSetConvolutionGroupCount(conv, 2)
    miopen.miopenInitConvolutionDescriptor(conv, miopenConvolution, 1, 1, 1, 1, 1, 1)


def workspace_without_size(kit: Kit) -> None:
    conv = Convolution(kit)
    algo = conv.find()
    conv.workspace, conv.size = kit.handle.empty_bytes(64), 0
    with refused_anyway():
        conv.run(algo)


def half(kit: Kit) -> None:
    x = kit.tensor(2, 3, 4, 4, dtype="float16")
    miopen.miopenScaleTensor(kit.handle, descriptor(x, miopenHalf), x, 2)


def later_function(kit: Kit) -> None:
    miopen.miopenGetTensorNumBytes(descriptor(kit.x))


def later_mode(kit: Kit) -> None:
    desc = miopen.miopenCreateActivationDescriptor()
    miopen.miopenSetActivationDescriptor(desc, miopenActivationCLIPPEDRELU, 1, 0, 0)
    x = descriptor(kit.x)
    miopen.miopenActivationForward(kit.handle, desc, 1, x, kit.x, 0, x, kit.handle.empty(kit.x.shape))


BOTH = ("miopen-1", "miopen-3")
MISTAKES = (
    Mistake("K2", half),
    Mistake("S08", workspace_without_size, BOTH),
    Mistake("S16", groups_before_init, ("miopen-3",)),
    Mistake("S17", pooled_for_inference, BOTH),
    Mistake("S17", other_workspace, BOTH),
    Mistake("S17", no_workspace, BOTH),
    Mistake("S17", overwritten_workspace, BOTH),
    Mistake("S18", never_pooled, BOTH),
    Mistake("S19", lrn_for_inference, BOTH),
    Mistake("S19", lrn_overwritten, BOTH),
    Mistake("T01", later_mode),
)
HARMLESS = ((clean, BOTH), (within_channel, BOTH), (later_function, ("miopen-3",)))
