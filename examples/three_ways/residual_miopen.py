"""A residual block with batch normalisation, training forward and backward, with MIOpen's names.

``y = relu(x + bn2(conv2(relu(bn1(conv1(x))))))``
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portadnn import miopen
from portadnn.miopen import miopenActivationRELU, miopenBNSpatial, miopenTensorOpAdd

from . import data
from .convolution_miopen import Convolution, tensor_4d


class Shared:
    """The handle, and the descriptors that both halves share."""

    def __init__(self, backend: str):
        self.handle = miopen.miopenCreate(backend=backend)
        self.image = tensor_4d(data.BLOCK)
        self.parameters = miopen.miopenCreateTensorDescriptor()
        miopen.miopenDeriveBNTensorDescriptor(self.parameters, self.image, miopenBNSpatial)
        self.relu = miopen.miopenCreateActivationDescriptor()
        miopen.miopenSetActivationDescriptor(self.relu, miopenActivationRELU, 0.0, 0.0, 0.0)


class Half:
    """A convolution and the normalisation after it."""

    def __init__(self, shared: Shared, w: Any, scale: Any, bias: Any):
        self.shared = shared
        handle = shared.handle
        self.conv = Convolution(handle, data.BLOCK, w.shape, 1)
        self.w, self.scale, self.bias = w, scale, bias
        self.mean, self.variance = handle.zeros(scale.shape), handle.zeros(scale.shape)
        self.saved_mean, self.saved_inv_variance = handle.empty(scale.shape), handle.empty(scale.shape)
        self.dw, self.dscale, self.dbias = (handle.empty(array.shape) for array in (w, scale, bias))
        self.y, self.z, self.dy, self.dx = (handle.empty(data.BLOCK) for _ in range(4))

    def forward(self, x: Any) -> Any:
        """Return the normalised convolution."""
        shared, image = self.shared, self.shared.image
        self.x = x
        self.conv.forward(x, self.w, self.y)
        miopen.miopenBatchNormalizationForwardTraining(
            shared.handle,
            miopenBNSpatial,
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
        miopen.miopenBatchNormalizationBackward(
            shared.handle,
            miopenBNSpatial,
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
        self.conv.backward_weights(self.dy, self.x, self.dw)
        self.conv.backward_data(self.dy, self.w, self.dx)
        return self.dx


def run(backend: str) -> dict[str, np.ndarray]:
    """Run the block forward and backward, and return outputs, gradients and statistics."""
    shared = Shared(backend)
    handle, image, relu, add = shared.handle, shared.image, shared.relu, miopenTensorOpAdd
    given = {name: handle.asarray(values) for name, values in data.residual_tensors().items()}
    x, dy = given["x"], given["dy"]
    one = Half(shared, given["w1"], given["scale1"], given["bias1"])
    two = Half(shared, given["w2"], given["scale2"], given["bias2"])
    a1, sum_, y, dsum, dz1, dx = (handle.empty(data.BLOCK) for _ in range(6))
    for _ in range(data.BLOCK_STEPS):
        z1 = one.forward(x)
        miopen.miopenActivationForward(handle, relu, 1, image, z1, 0, image, a1)
        z2 = two.forward(a1)
        miopen.miopenOpTensor(handle, add, 1, image, z2, 1, image, x, 0, image, sum_)
        miopen.miopenActivationForward(handle, relu, 1, image, sum_, 0, image, y)

        miopen.miopenActivationBackward(handle, relu, 1, image, y, image, dy, image, sum_, 0, image, dsum)
        da1 = two.backward(dsum)
        miopen.miopenActivationBackward(handle, relu, 1, image, a1, image, da1, image, z1, 0, image, dz1)
        dx1 = one.backward(dz1)
        miopen.miopenOpTensor(handle, add, 1, image, dx1, 1, image, dsum, 0, image, dx)
    found = {"y": y, "dx": dx}
    for number, half in enumerate((one, two), 1):
        for name in ("mean", "variance", "saved_mean", "saved_inv_variance", "dw", "dscale", "dbias"):
            found[f"{name} {number}"] = getattr(half, name)
    results = {name: handle.to_numpy(array) for name, array in found.items()}
    miopen.miopenDestroy(handle)
    return results
