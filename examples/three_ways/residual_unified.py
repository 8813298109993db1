"""A residual block with batch normalisation, training forward and backward, with portadnn's own names.

``y = relu(x + bn2(conv2(relu(bn1(conv1(x))))))``
"""

from __future__ import annotations

from typing import Any

import numpy as np

import portadnn as dnn

from . import data

RELU = dnn.ActivationDescriptor("relu")
ADD = dnn.OpTensorDescriptor("add")
CONV = dnn.ConvolutionDescriptor(padding=(1, 1))


class Half:
    """A convolution and the normalisation after it."""

    def __init__(self, handle: dnn.Handle, w: Any, scale: Any, bias: Any):
        self.handle = handle
        self.w, self.scale, self.bias = w, scale, bias
        self.mean, self.variance = handle.zeros(scale.shape), handle.zeros(scale.shape)
        self.saved_mean, self.saved_inv_variance = handle.empty(scale.shape), handle.empty(scale.shape)
        self.dw, self.dscale, self.dbias = (handle.empty(array.shape) for array in (w, scale, bias))

    def forward(self, x: Any) -> Any:
        """Return the normalised convolution."""
        self.x = x
        self.y = dnn.convolution_forward(self.handle, x, self.w, CONV, algo="implicit_gemm")
        return dnn.batch_normalization_forward_training(
            self.handle,
            self.y,
            self.scale,
            self.bias,
            None,
            self.mean,
            self.variance,
            self.saved_mean,
            self.saved_inv_variance,
            mode="spatial",
            exponential_average_factor=data.AVERAGING,
            epsilon=data.EPSILON,
        )

    def backward(self, dz: Any) -> Any:
        """Return the input's gradient."""
        dy, _, _ = dnn.batch_normalization_backward(
            self.handle,
            self.y,
            dz,
            self.scale,
            self.saved_mean,
            self.saved_inv_variance,
            None,
            self.dscale,
            self.dbias,
            mode="spatial",
            epsilon=data.EPSILON,
        )
        dnn.convolution_backward_filter(self.handle, self.x, dy, CONV, self.dw, algo="algo_1")
        dx = self.handle.empty(self.x.shape)
        return dnn.convolution_backward_data(self.handle, self.w, dy, CONV, dx, algo="algo_1")


def run(backend: str) -> dict[str, np.ndarray]:
    """Run the block forward and backward, and return outputs, gradients and statistics."""
    with dnn.Handle(backend) as handle:
        given = {name: handle.asarray(values) for name, values in data.residual_tensors().items()}
        x = given["x"]
        one = Half(handle, given["w1"], given["scale1"], given["bias1"])
        two = Half(handle, given["w2"], given["scale2"], given["bias2"])
        for _ in range(data.BLOCK_STEPS):
            z1 = one.forward(x)
            a1 = dnn.activation_forward(handle, z1, RELU)
            z2 = two.forward(a1)
            sum_ = dnn.op_tensor(handle, ADD, z2, x)
            y = dnn.activation_forward(handle, sum_, RELU)

            dsum = dnn.activation_backward(handle, y, given["dy"], sum_, RELU)
            da1 = two.backward(dsum)
            dz1 = dnn.activation_backward(handle, a1, da1, z1, RELU)
            dx = one.backward(dz1)
            dx = dnn.op_tensor(handle, ADD, dx, dsum)
        found = {"y": y, "dx": dx}
        for number, half in enumerate((one, two), 1):
            for name in ("mean", "variance", "saved_mean", "saved_inv_variance", "dw", "dscale", "dbias"):
                found[f"{name} {number}"] = getattr(half, name)
        return {name: handle.to_numpy(array) for name, array in found.items()}
