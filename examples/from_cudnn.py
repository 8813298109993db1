"""A convolution layer, forward and backward, as cuDNN code has it: only the import is portadnn's."""

import numpy as np

from portadnn import cudnn

rng = np.random.default_rng(0)
handle = cudnn.cudnnCreate()  # the best device; or cudnnCreate(backend="opencl"), or PORTADNN_BACKEND

# Descriptors are opaque, made first and set then. What C writes through pointers is returned.
x_desc, y_desc = cudnn.cudnnCreateTensorDescriptor(), cudnn.cudnnCreateTensorDescriptor()
w_desc, conv = cudnn.cudnnCreateFilterDescriptor(), cudnn.cudnnCreateConvolutionDescriptor()
cudnn.cudnnSetTensor4dDescriptor(x_desc, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_FLOAT, 8, 3, 32, 32)
cudnn.cudnnSetFilter4dDescriptor(w_desc, cudnn.CUDNN_DATA_FLOAT, cudnn.CUDNN_TENSOR_NCHW, 16, 3, 3, 3)
cudnn.cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, cudnn.CUDNN_CROSS_CORRELATION)
dims = cudnn.cudnnGetConvolution2dForwardOutputDim(conv, x_desc, w_desc)
cudnn.cudnnSetTensor4dDescriptor(y_desc, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_FLOAT, *dims)

# Memory: arrays of the backend. With CuPy also x.data.ptr, as other wrappers take it.
x = handle.asarray(rng.normal(size=(8, 3, 32, 32)), "float32")
w = handle.asarray(rng.normal(size=(16, 3, 3, 3)), "float32")
y, dw = handle.empty(dims), handle.zeros((16, 3, 3, 3))

# Find measures, as it does in C; here the first algorithm that needs no more than a megabyte.
count, results = cudnn.cudnnFindConvolutionForwardAlgorithm(handle, x_desc, w_desc, conv, y_desc, 8)
best = next(r for r in results if r.status == cudnn.CUDNN_STATUS_SUCCESS and r.memory <= 1 << 20)
workspace = handle.empty_bytes(best.memory)
cudnn.cudnnConvolutionForward(
    handle, 1.0, x_desc, x, w_desc, w, conv, best.algo, workspace, best.memory, 0.0, y_desc, y
)
algo = cudnn.CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1
cudnn.cudnnConvolutionBackwardFilter(handle, 1.0, x_desc, x, y_desc, y, conv, algo, None, 0, 0.0, w_desc, dw)
print(f"{handle.info.name}: y is {dims}, dw[0, 0, 0, 0] = {handle.to_numpy(dw)[0, 0, 0, 0]:.5g}")

# A status other than success is raised.
try:
    cudnn.cudnnSetTensor4dDescriptor(x_desc, cudnn.CUDNN_TENSOR_NCHW, cudnn.CUDNN_DATA_FLOAT, 8, -3, 32, 32)
except cudnn.cudnnError as error:
    print(cudnn.cudnnGetErrorString(error.status), "-", error)

for desc in (x_desc, y_desc):
    cudnn.cudnnDestroyTensorDescriptor(desc)
cudnn.cudnnDestroyFilterDescriptor(w_desc)
cudnn.cudnnDestroyConvolutionDescriptor(conv)
cudnn.cudnnDestroy(handle)
