"""RNN descriptors: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from ..descriptors import destroy, value_of
from ..dropout import miopenDropoutDescriptor_t
from ..names import function
from ..rnn.descriptor import (
    miopenGetRNNDescriptor as _GetRNNDescriptor,
    miopenGetRNNDescriptor_V2 as _GetRNNDescriptor_V2,
    miopenGetRNNPaddingMode as _GetRNNPaddingMode,
    miopenRNNDescriptor_t,
    miopenSetRNNDescriptor as _SetRNNDescriptor,
    miopenSetRNNDescriptor_V2 as _SetRNNDescriptor_V2,
    miopenSetRNNPaddingMode as _SetRNNPaddingMode,
)
from .enums import (
    miopenDataType_t,
    miopenRNNAlgo_t,
    miopenRNNBiasMode_t,
    miopenRNNDirectionMode_t,
    miopenRNNInputMode_t,
    miopenRNNMode_t,
    miopenRNNPaddingMode_t,
)


@function
def miopenCreateRNNDescriptor() -> miopenRNNDescriptor_t:
    """Return rnnDesc (since 1.2.1).

    C: ``miopenStatus_t miopenCreateRNNDescriptor(miopenRNNDescriptor_t *rnnDesc)``

    In cuDNN: ``cudnnCreateRNNDescriptor``; what a port changes: same arguments.

    In portadnn: ``RNNDescriptor``.
    """
    return miopenRNNDescriptor_t()


@function
def miopenDestroyRNNDescriptor(rnnDesc: miopenRNNDescriptor_t) -> None:
    """Destroy a descriptor.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenDestroyRNNDescriptor(miopenRNNDescriptor_t rnnDesc)``

    In cuDNN: ``cudnnDestroyRNNDescriptor``; what a port changes: same arguments.

    In portadnn: ``RNNDescriptor``.
    """
    destroy(rnnDesc, miopenRNNDescriptor_t, "rnnDesc")


@function
def miopenSetRNNDescriptor(
    rnnDesc: miopenRNNDescriptor_t,
    hsize: int,
    nlayers: int,
    inMode: int,
    direction: int,
    rnnMode: int,
    biasMode: int,
    algo: int,
    dataType: int,
) -> None:
    """Describe a network without dropout. The algorithm has no effect.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenSetRNNDescriptor(miopenRNNDescriptor_t rnnDesc, const int hsize, const int nlayers, miopenRNNInputMode_t inMode, miopenRNNDirectionMode_t direction, miopenRNNMode_t rnnMode, miopenRNNBiasMode_t biasMode, miopenRNNAlgo_t algo, miopenDataType_t dataType)``

    In cuDNN: ``cudnnSetRNNDescriptor``; what a port changes: drops dropoutDesc; adds biasMode, algo; renames hiddenSize -> hsize, numLayers -> nlayers, inputMode -> inMode, mode -> rnnMode; in the newest versions: drops handle, dropoutDesc; adds biasMode; renames hiddenSize -> hsize, numLayers -> nlayers, inputMode -> inMode, mode -> rnnMode, mathPrec -> dataType.

    In portadnn: ``RNNDescriptor``.
    """
    _SetRNNDescriptor(rnnDesc, hsize, nlayers, inMode, direction, rnnMode, biasMode, algo, dataType)


@function
def miopenSetRNNDescriptor_V2(
    rnnDesc: miopenRNNDescriptor_t,
    hsize: int,
    nlayers: int,
    dropoutDesc: miopenDropoutDescriptor_t,
    inMode: int,
    direction: int,
    rnnMode: int,
    biasMode: int,
    algo: int,
    dataType: int,
) -> None:
    """Describe a network with dropout between its layers, or without (None).

    Return nothing (since 2.4.0).

    C: ``miopenStatus_t miopenSetRNNDescriptor_V2(miopenRNNDescriptor_t rnnDesc, const int hsize, const int nlayers, miopenDropoutDescriptor_t dropoutDesc, miopenRNNInputMode_t inMode, miopenRNNDirectionMode_t direction, miopenRNNMode_t rnnMode, miopenRNNBiasMode_t biasMode, miopenRNNAlgo_t algo, miopenDataType_t dataType)``

    In cuDNN: ``cudnnSetRNNDescriptor``; what a port changes: adds biasMode, algo; renames hiddenSize -> hsize, numLayers -> nlayers, inputMode -> inMode, mode -> rnnMode; in the newest versions: drops handle; adds biasMode; renames hiddenSize -> hsize, numLayers -> nlayers, inputMode -> inMode, mode -> rnnMode, mathPrec -> dataType.

    In portadnn: ``RNNDescriptor``.
    """
    _SetRNNDescriptor_V2(rnnDesc, hsize, nlayers, dropoutDesc, inMode, direction, rnnMode, biasMode, algo, dataType)


@function
def miopenGetRNNDescriptor(
    rnnDesc: miopenRNNDescriptor_t
) -> tuple[miopenRNNMode_t, miopenRNNAlgo_t, miopenRNNInputMode_t, miopenRNNDirectionMode_t, miopenRNNBiasMode_t, int, int]:
    """Return (rnnMode, algoMode, inputMode, dirMode, biasMode, hiddenSize, layer).

    Return (rnnMode, algoMode, inputMode, dirMode, biasMode, hiddenSize, layer) (since 1.2.1).

    C: ``miopenStatus_t miopenGetRNNDescriptor(miopenRNNDescriptor_t rnnDesc, miopenRNNMode_t *rnnMode, miopenRNNAlgo_t *algoMode, miopenRNNInputMode_t *inputMode, miopenRNNDirectionMode_t *dirMode, miopenRNNBiasMode_t *biasMode, int *hiddenSize, int *layer)``

    In cuDNN: ``cudnnGetRNNDescriptor``; what a port changes: drops cudnnHandle, dropoutDesc, dataType; adds biasMode; moves inputMode, direction, mode, algo; renames numLayers -> layer, direction -> dirMode, mode -> rnnMode, algo -> algoMode; in the newest versions: drops handle, dropoutDesc, mathPrec; adds biasMode; moves inputMode, direction, mode, algo; renames numLayers -> layer, direction -> dirMode, mode -> rnnMode, algo -> algoMode.

    In portadnn: ``RNNDescriptor``.
    """
    return _GetRNNDescriptor(value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"))


@function
def miopenGetRNNDescriptor_V2(
    rnnDesc: miopenRNNDescriptor_t
) -> tuple[int, int, miopenDropoutDescriptor_t, miopenRNNInputMode_t, miopenRNNDirectionMode_t, miopenRNNMode_t, miopenRNNBiasMode_t, miopenRNNAlgo_t, miopenDataType_t]:
    """Return (hiddenSize, layer, dropoutDesc, inputMode, dirMode, rnnMode, biasMode, algoMode, dataType).

    Return (hiddenSize, layer, dropoutDesc, inputMode, dirMode, rnnMode, biasMode, algoMode, dataType) (since 2.4.0).

    C: ``miopenStatus_t miopenGetRNNDescriptor_V2(miopenRNNDescriptor_t rnnDesc, int *hiddenSize, int *layer, miopenDropoutDescriptor_t *dropoutDesc, miopenRNNInputMode_t *inputMode, miopenRNNDirectionMode_t *dirMode, miopenRNNMode_t *rnnMode, miopenRNNBiasMode_t *biasMode, miopenRNNAlgo_t *algoMode, miopenDataType_t *dataType)``

    In cuDNN: ``cudnnGetRNNDescriptor``; what a port changes: drops cudnnHandle; adds biasMode; renames numLayers -> layer, direction -> dirMode, mode -> rnnMode, algo -> algoMode; in the newest versions: drops handle; adds biasMode; renames numLayers -> layer, direction -> dirMode, mode -> rnnMode, algo -> algoMode, mathPrec -> dataType.

    In portadnn: ``RNNDescriptor``.
    """
    return _GetRNNDescriptor_V2(value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"))


@function
def miopenSetRNNPaddingMode(rnnDesc: miopenRNNDescriptor_t, paddingMode: int) -> None:
    """Choose whether the step-wise calls take padded sequences, which they do not: see miopenRNNForward.

    Return nothing (since 3.0.0).

    C: ``miopenStatus_t miopenSetRNNPaddingMode(miopenRNNDescriptor_t rnnDesc, miopenRNNPaddingMode_t paddingMode)``

    In cuDNN: ``cudnnSetRNNPaddingMode``; what a port changes: same arguments; in the newest versions: paddingMode: unsigned -> miopenRNNPaddingMode_t.
    """
    _SetRNNPaddingMode(value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"), rnnDesc, paddingMode)


@function
def miopenGetRNNPaddingMode(rnnDesc: miopenRNNDescriptor_t) -> miopenRNNPaddingMode_t:
    """Return the padding mode.

    Return paddingMode (since 3.0.0).

    C: ``miopenStatus_t miopenGetRNNPaddingMode(miopenRNNDescriptor_t rnnDesc, miopenRNNPaddingMode_t *paddingMode)``

    In cuDNN: ``cudnnGetRNNPaddingMode``; what a port changes: same arguments; in the newest versions: paddingMode: unsigned * -> miopenRNNPaddingMode_t *.
    """
    return _GetRNNPaddingMode(value_of(rnnDesc, miopenRNNDescriptor_t, "rnnDesc"))
