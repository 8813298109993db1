"""What MIOpen's newest functions tell of descriptors."""

from __future__ import annotations

import pytest

import portadnn as dnn
import portadnn.miopen as miopen


@pytest.mark.parametrize(
    ("layout", "lengths", "strides"),
    [
        ("NCHW", (2, 3, 4, 5), (60, 20, 5, 1)),
        ("NHWC", (2, 3, 4, 5), (60, 1, 15, 3)),
        ("NCDHW", (2, 3, 4, 5, 6), (360, 120, 30, 6, 1)),
        ("NDHWC", (2, 3, 4, 5, 6), (360, 1, 90, 18, 3)),
    ],
)
def test_packed_tensors(layout, lengths, strides):
    desc = miopen.miopenCreateTensorDescriptor()
    named = getattr(miopen, f"miopenTensor{layout}")
    miopen.miopenSetNdTensorDescriptorWithLayout(desc, miopen.miopenHalf, named, lengths, len(lengths))
    assert miopen.miopenGetTensorLayout(desc) is named
    assert miopen.miopenGetTensorDescriptorV2(desc) == (miopen.miopenHalf, lengths, strides)
    assert miopen.miopenIsTensorPacked(desc) is True
    assert miopen.miopenGetTensorElementSpace(desc) == lengths[0] * strides[0]
    assert miopen.miopenGetTensorVectorLength(desc) == 1


def test_tensors_with_gaps():
    desc = miopen.miopenCreateTensorDescriptor()
    miopen.miopenSetTensorDescriptor(desc, miopen.miopenFloat, 4, (2, 3, 4, 5), (100, 30, 6, 1))
    assert miopen.miopenIsTensorPacked(desc) is False
    assert miopen.miopenGetTensorElementSpace(desc) == 1 + 100 + 2 * 30 + 3 * 6 + 4
    with pytest.raises(dnn.NotSupported, match=r"expected packed strides of miopenTensorNCHW, .*\(100, 30, 6, 1\)"):
        miopen.miopenGetTensorLayout(desc)
    with pytest.raises(dnn.BadParam):
        miopen.miopenGetTensorElementSpace(miopen.miopenCreateTensorDescriptor())


def test_padding_is_stated_by_numbers():
    conv, pool = miopen.miopenCreateConvolutionDescriptor(), miopen.miopenCreatePoolingDescriptor()
    miopen.miopenInitConvolutionDescriptor(conv, miopen.miopenConvolution, 1, 1, 2, 2, 1, 1)
    miopen.miopenSet2dPoolingDescriptor(pool, miopen.miopenPoolingMax, 2, 2, 0, 0, 2, 2)
    assert miopen.miopenGetConvolutionPaddingMode(conv) is miopen.miopenPaddingDefault
    assert miopen.miopenGetPoolingPaddingMode(pool) is miopen.miopenPaddingDefault
