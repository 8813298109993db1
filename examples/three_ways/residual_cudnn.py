"""A residual block with batch normalisation, training forward and backward, with cuDNN's names.

``y = relu(x + bn2(conv2(relu(bn1(conv1(x))))))``
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portadnn import cudnn
from portadnn.cudnn import (
    CUDNN_ACTIVATION_RELU,
    CUDNN_BATCHNORM_SPATIAL,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
    CUDNN_CROSS_CORRELATION,
    CUDNN_DATA_FLOAT,
    CUDNN_NOT_PROPAGATE_NAN,
    CUDNN_OP_TENSOR_ADD,
    CUDNN_TENSOR_NCHW,
)

from . import data


class Shared:
    """The handle, and the descriptors that both halves share."""

    def __init__(self, backend: str):
        self.handle = cudnn.cudnnCreate(backend=backend)
        channels = data.BLOCK[1]
        self.image = cudnn.cudnnCreateTensorDescriptor()
        cudnn.cudnnSetTensor4dDescriptor(self.image, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, *data.BLOCK)
        self.filter = cudnn.cudnnCreateFilterDescriptor()
        cudnn.cudnnSetFilter4dDescriptor(self.filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, channels, channels, 3, 3)
        self.conv = cudnn.cudnnCreateConvolutionDescriptor()
        cudnn.cudnnSetConvolution2dDescriptor(self.conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION)
        self.parameters = cudnn.cudnnCreateTensorDescriptor()
        cudnn.cudnnDeriveBNTensorDescriptor(self.parameters, self.image, CUDNN_BATCHNORM_SPATIAL)
        self.relu = cudnn.cudnnCreateActivationDescriptor()
        cudnn.cudnnSetActivationDescriptor(self.relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0.0)
        self.add = cudnn.cudnnCreateOpTensorDescriptor()
        cudnn.cudnnSetOpTensorDescriptor(self.add, CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN)


class Half:
    """A convolution and the normalisation after it."""

    def __init__(self, shared: Shared, w: Any, scale: Any, bias: Any):
        self.shared = shared
        handle = shared.handle
        self.w, self.scale, self.bias = w, scale, bias
        self.mean, self.variance = handle.zeros(scale.shape), handle.zeros(scale.shape)
        self.saved_mean, self.saved_inv_variance = handle.empty(scale.shape), handle.empty(scale.shape)
        self.dw, self.dscale, self.dbias = (handle.empty(array.shape) for array in (w, scale, bias))
        self.y, self.z, self.dy, self.dx = (handle.empty(data.BLOCK) for _ in range(4))

    def forward(self, x: Any) -> Any:
        """Return the normalised convolution."""
        shared, image = self.shared, self.shared.image
        self.x = x
        algo = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM
        cudnn.cudnnConvolutionForward(
            shared.handle, 1, image, x, shared.filter, self.w, shared.conv, algo, None, 0, 0, image, self.y
        )
        cudnn.cudnnBatchNormalizationForwardTraining(
            shared.handle,
            CUDNN_BATCHNORM_SPATIAL,
            1,
            0,
            image,
            self.y,
            image,
            self.z,
            shared.parameters,
            self.scale,
            self.bias,
            data.AVERAGING,
            self.mean,
            self.variance,
            data.EPSILON,
            self.saved_mean,
            self.saved_inv_variance,
        )
        return self.z

    def backward(self, dz: Any) -> Any:
        """Return the input's gradient."""
        shared, image = self.shared, self.shared.image
        cudnn.cudnnBatchNormalizationBackward(
            shared.handle,
            CUDNN_BATCHNORM_SPATIAL,
            1,
            0,
            1,
            0,
            image,
            self.y,
            image,
            dz,
            image,
            self.dy,
            shared.parameters,
            self.scale,
            self.dscale,
            self.dbias,
            data.EPSILON,
            self.saved_mean,
            self.saved_inv_variance,
        )
        algo = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1
        cudnn.cudnnConvolutionBackwardFilter(
            shared.handle, 1, image, self.x, image, self.dy, shared.conv, algo, None, 0, 0, shared.filter, self.dw
        )
        algo = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1
        cudnn.cudnnConvolutionBackwardData(
            shared.handle, 1, shared.filter, self.w, image, self.dy, shared.conv, algo, None, 0, 0, image, self.dx
        )
        return self.dx


def run(backend: str) -> dict[str, np.ndarray]:
    """Run the block forward and backward, and return outputs, gradients and statistics."""
    shared = Shared(backend)
    handle, image, relu, add = shared.handle, shared.image, shared.relu, shared.add
    given = {name: handle.asarray(values) for name, values in data.residual_tensors().items()}
    x, dy = given["x"], given["dy"]
    one = Half(shared, given["w1"], given["scale1"], given["bias1"])
    two = Half(shared, given["w2"], given["scale2"], given["bias2"])
    a1, sum_, y, dsum, dz1, dx = (handle.empty(data.BLOCK) for _ in range(6))
    for _ in range(data.BLOCK_STEPS):
        z1 = one.forward(x)
        cudnn.cudnnActivationForward(handle, relu, 1, image, z1, 0, image, a1)
        z2 = two.forward(a1)
        cudnn.cudnnOpTensor(handle, add, 1, image, z2, 1, image, x, 0, image, sum_)
        cudnn.cudnnActivationForward(handle, relu, 1, image, sum_, 0, image, y)

        cudnn.cudnnActivationBackward(handle, relu, 1, image, y, image, dy, image, sum_, 0, image, dsum)
        da1 = two.backward(dsum)
        cudnn.cudnnActivationBackward(handle, relu, 1, image, a1, image, da1, image, z1, 0, image, dz1)
        dx1 = one.backward(dz1)
        cudnn.cudnnOpTensor(handle, add, 1, image, dx1, 1, image, dsum, 0, image, dx)
    found = {"y": y, "dx": dx}
    for number, half in enumerate((one, two), 1):
        for name in ("mean", "variance", "saved_mean", "saved_inv_variance", "dw", "dscale", "dbias"):
            found[f"{name} {number}"] = getattr(half, name)
    results = {name: handle.to_numpy(array) for name, array in found.items()}
    cudnn.cudnnDestroy(handle)
    return results
