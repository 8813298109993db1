"""cuDNN's operations as differentiable functions of PyTorch's tensors, with the names of ``torch.nn.functional``.

Each is an operator of torch.library, so that autograd, ``torch.compile``, autocast and ``torch.func`` take them.
Tensors on GPUs are computed by the cuda backend (hip, on ROCm) on PyTorch's current stream, tensors in the host's
memory by OpenCL on the CPU, both where they lie; ``backend=`` chooses another.

>>> import torch
>>> from portadnn.torch import ops
>>> x, w = torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3, requires_grad=True)
>>> y = ops.conv2d(x, w, padding=1, backend="reference")
>>> y.sum().backward()
>>> y.shape, w.grad.shape
(torch.Size([1, 4, 8, 8]), torch.Size([4, 3, 3, 3]))
"""

from torch import fx

from .activations import (
    clipped_relu,
    dropout,
    elu,
    local_response_norm,
    log_softmax,
    relu,
    relu6,
    sigmoid,
    silu,
    softmax,
    tanh,
)
from .attention import scaled_dot_product_attention
from .batch_norms import batch_norm
from .convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from .ctc import ctc_loss
from .norms import group_norm, instance_norm, layer_norm, rms_norm
from .pooling import (
    adaptive_avg_pool2d,
    adaptive_max_pool2d,
    adaptive_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from .rnn import rnn
from .sampling import grid_sample

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_max_pool2d",
    "adaptive_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "clipped_relu",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "ctc_loss",
    "dropout",
    "elu",
    "grid_sample",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "log_softmax",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "relu",
    "relu6",
    "rms_norm",
    "rnn",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "tanh",
]

for _name in __all__:
    fx.wrap(_name)  # torch.fx notes a call of ops.conv2d and the like, and does not trace into it
