"""Messages of calls, the last error, and what the library says of itself."""

from __future__ import annotations

import numpy as np
import pytest

import portadnn as dnn
from portadnn import cudnn

ALL = 1 << cudnn.CUDNN_SEV_ERROR | 1 << cudnn.CUDNN_SEV_WARNING | 1 << cudnn.CUDNN_SEV_INFO


@pytest.fixture
def told():
    messages = []
    cudnn.cudnnSetCallback(ALL, "mine", lambda *message: messages.append(message))
    yield messages
    cudnn.cudnnSetCallback(0, None, None)


def test_messages_are_those_of_the_log(reference, told):
    desc = cudnn.cudnnCreateTensorDescriptor()
    cudnn.cudnnSetTensor4dDescriptor(desc, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_FLOAT, 1, 2, 1, 2)
    x = np.zeros(4, np.float32)
    cudnn.cudnnSoftmaxForward(reference, 1, 0, 1, desc, x, 0, desc, x)
    assert [message[0] for message in told] == [cudnn.CUDNN_SEV_INFO] * len(told)
    assert {message[1] for message in told} == {"mine"}
    texts = [message[3].split("\n") for message in told]
    assert texts[-2][0] == "I! CuDNN (v5005) function cudnnSetTensor4dDescriptor() called:"
    assert "i!     dataType: type=cudnnDataType_t; val=CUDNN_DATA_FLOAT (0);" in texts[-2]
    assert "i!     c: type=int; val=2;" in texts[-2]
    for line in (
        "i!     algo: type=cudnnSoftmaxAlgorithm_t; val=CUDNN_SOFTMAX_ACCURATE (1);",
        "i!     alpha: type=CUDNN_DATA_FLOAT; val=1.000000;",
        "i!     xDesc: type=cudnnTensorDescriptor_t:",
        "i!         dimA: type=int; val=[1,2,1,2];",
    ):
        assert line in texts[-1]
    assert told[-1][2].cudnnStatus == 0
    assert told[-1][2].handle is reference


def test_errors_are_told_and_remembered(told):
    with pytest.raises(dnn.BadParam):
        cudnn.cudnnSetTensor4dDescriptor(None, 0, 0, 1, 1, 1, 1)
    severity, _, facts, text = told[-1]
    assert (severity, facts.cudnnStatus) == (cudnn.CUDNN_SEV_ERROR, cudnn.CUDNN_STATUS_BAD_PARAM)
    assert text.startswith("E! CuDNN (v5005) Error: CUDNN_STATUS_BAD_PARAM; Reason: cudnnSetTensor4dDescriptor:")
    message = cudnn.cudnnGetLastErrorString(1000)
    assert "tensorDesc" in message
    assert cudnn.cudnnGetLastErrorString(1000) == ""


def test_a_callback_is_returned_and_ends(told):
    mask, udata, function = cudnn.cudnnGetCallback()
    assert (mask, udata) == (ALL, "mine")
    assert callable(function)
    cudnn.cudnnSetCallback(0, None, None)
    before = len(told)
    cudnn.cudnnCreateTensorDescriptor()
    assert len(told) == before
    with pytest.raises(dnn.BadParam, match="fptr"):
        cudnn.cudnnSetCallback(ALL, None, 5)


def test_runtime_errors_and_versions(reference):
    for mode in cudnn.cudnnErrQueryMode_t:
        assert cudnn.cudnnQueryRuntimeError(reference, mode) == (cudnn.CUDNN_STATUS_SUCCESS, None)
    with pytest.raises(dnn.BadParam):
        cudnn.cudnnQueryRuntimeError(reference, 9)
    with pytest.raises(dnn.BadParam):
        cudnn.cudnnQueryRuntimeError(None, 0)
    assert cudnn.cudnnGetMaxDeviceVersion() == 900
