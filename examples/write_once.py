"""Write once: a layer, forward and backward, unchanged on CUDA, on OpenCL and on plain NumPy."""

import numpy as np

import portadnn as dnn

rng = np.random.default_rng(0)
conv = dnn.ConvolutionDescriptor(padding=(1, 1))
pool = dnn.PoolingDescriptor("max", window=(2, 2), stride=(2, 2))

with dnn.Handle() as handle:  # the best device; or Handle("opencl", device=1), Handle("cuda"), Handle("reference")
    x = handle.asarray(rng.normal(size=(8, 3, 32, 32)), "float32")  # n c h w
    w = handle.asarray(rng.normal(size=(16, 3, 3, 3)), "float32")  # k c r s
    bias = handle.asarray(np.ones((1, 16, 1, 1)), "float32")

    y = dnn.convolution_forward(handle, x, w, conv)
    dnn.add_tensor(handle, bias, y)  # y = bias + y, in place
    z = dnn.pooling_forward(handle, y, pool)
    dy = dnn.pooling_backward(handle, z, z, y, pool)  # as if the loss were sum(z * z) / 2
    dw = dnn.convolution_backward_filter(handle, x, dy, conv, handle.empty(w.shape))
    print(f"{handle.info.name}: z is {z.shape}, dw[0, 0, 0, 0] = {handle.to_numpy(dw)[0, 0, 0, 0]:.5g}")
