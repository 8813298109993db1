"""NULL is nothing to destroy, and what descriptors say before anybody sets them: as cuDNN 9.28 does, asked on a CPU."""

from __future__ import annotations

import numpy as np
import pytest

import portadnn as dnn
from portadnn import cudnn, miopen

DESTROY = [
    (library, name)
    for library in (cudnn, miopen)
    for name in library.__all__
    if "Destroy" in name and name != "cudnnDestroyAlgorithmPerformance"  # which takes an array and a number
]
UNPACKED, PACKED, BATCH_MAJOR = range(3)  # cudnnRNNDataLayout_t


@pytest.mark.parametrize(("library", "name"), DESTROY, ids=[name for _, name in DESTROY])
def test_null_is_nothing_to_destroy(library, name):
    """cuDNN returns SUCCESS, but for cudnnBackendDestroyDescriptor; MIOpen deletes a null pointer."""
    destroy = getattr(library, name)
    if name == "cudnnBackendDestroyDescriptor":
        with pytest.raises(dnn.BadParam, match="got NULL"):
            destroy(None)
    else:
        assert destroy(None) is None
        with pytest.raises(dnn.BadParam):
            destroy(0)


def test_an_lrn_descriptor_has_the_guides_defaults():
    """Section 4.88: they are set by Create."""
    desc = cudnn.cudnnCreateLRNDescriptor()
    assert cudnn.cudnnGetLRNDescriptor(desc) == (5, 1e-4, 0.75, 2.0)
    x = np.random.default_rng(0).standard_normal((2, 7, 3, 3)).astype(np.float32)
    y = np.empty_like(x)
    layout = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensor4dDescriptor(layout, 0, 0, *x.shape)
    handle = cudnn.cudnnCreate(backend="reference")
    cudnn.cudnnLRNCrossChannelForward(handle, desc, 0, 1.0, layout, x, 0.0, layout, y)
    squares = np.pad(x.astype(np.float64) ** 2, ((0, 0), (2, 2), (0, 0), (0, 0)))
    sums = sum(squares[:, i : i + 7] for i in range(5))
    np.testing.assert_allclose(y, x / (2 + 1e-4 / 5 * sums) ** 0.75, rtol=1e-6)
    cudnn.cudnnSetLRNDescriptor(desc, 3, 1.0, 0.5, 1.0)
    assert cudnn.cudnnGetLRNDescriptor(desc) == (3, 1.0, 0.5, 1.0)
    cudnn.cudnnDestroyLRNDescriptor(desc)
    with pytest.raises(dnn.BadParam, match="destroyed"):
        cudnn.cudnnGetLRNDescriptor(desc)
    cudnn.cudnnDestroy(handle)


@pytest.mark.parametrize("layout", [UNPACKED, BATCH_MAJOR])
@pytest.mark.parametrize("lengths", [(3, 0), (0, 0), (3, 3)])
def test_padded_sequences_may_be_empty(layout, lengths):
    desc = cudnn.cudnnCreateRNNDataDescriptor()
    cudnn.cudnnSetRNNDataDescriptor(desc, 0, layout, 3, 2, 4, lengths, None)
    assert cudnn.cudnnGetRNNDataDescriptor(desc, 2) == (0, layout, 3, 2, 4, lengths, None)
    rnn, dropout = cudnn.cudnnCreateRNNDescriptor(), cudnn.cudnnCreateDropoutDescriptor()
    cudnn.cudnnSetRNNDescriptor_v8(rnn, 0, 2, 2, 0, 0, 0, 0, 0, 4, 5, 5, 1, None, 0)
    handle = cudnn.cudnnCreate(backend="reference")
    assert cudnn.cudnnGetRNNTempSpaceSizes(handle, rnn, 0, desc)[1] == 0
    cudnn.cudnnDestroy(handle)
    cudnn.cudnnDestroyDropoutDescriptor(dropout)


@pytest.mark.parametrize(
    ("layout", "lengths"), [(PACKED, (3, 0)), (PACKED, (0, 0)), (UNPACKED, (3, -1)), (UNPACKED, (4, 1))]
)
def test_lengths_that_cudnn_refuses(layout, lengths):
    desc = cudnn.cudnnCreateRNNDataDescriptor()
    with pytest.raises(dnn.BadParam, match="seqLengthArray"):
        cudnn.cudnnSetRNNDataDescriptor(desc, 0, layout, 3, 2, 4, lengths, None)


@pytest.mark.parametrize("padding", [10**400, "0", True, [0.0]])
def test_a_padding_is_a_number(padding):
    desc = cudnn.cudnnCreateRNNDataDescriptor()
    with pytest.raises(dnn.BadParam, match="paddingFill"):
        cudnn.cudnnSetRNNDataDescriptor(desc, 0, UNPACKED, 3, 2, 4, (3, 1), padding)
