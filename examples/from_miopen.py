"""A MIOpen program on any device: a layer with convolution, bias, ReLU and pooling, forward and backward.

What differs from C: results come back as values, and statuses as exceptions.
"""

import numpy as np

from portadnn import miopen

handle = miopen.miopenCreate()  # the best device there is; miopenCreate(backend="opencl") chooses


def tensor(*lengths):
    """Return a descriptor of a packed float tensor, or of a filter: they are the same in MIOpen."""
    desc = miopen.miopenCreateTensorDescriptor()
    miopen.miopenSet4dTensorDescriptor(desc, miopen.miopenFloat, *lengths)
    return desc


# Descriptors, and memory of the device
conv = miopen.miopenCreateConvolutionDescriptor()
miopen.miopenInitConvolutionDescriptor(conv, miopen.miopenConvolution, 1, 1, 1, 1, 1, 1)
relu = miopen.miopenCreateActivationDescriptor()
miopen.miopenSetActivationDescriptor(relu, miopen.miopenActivationRELU, 0.0, 0.0, 0.0)
pool = miopen.miopenCreatePoolingDescriptor()
miopen.miopenSet2dPoolingDescriptor(pool, miopen.miopenPoolingMax, 2, 2, 0, 0, 2, 2)

rng = np.random.default_rng(0)
xd, wd, bd = tensor(2, 3, 8, 8), tensor(4, 3, 3, 3), tensor(1, 4, 1, 1)
yd = tensor(*miopen.miopenGetConvolutionForwardOutputDim(conv, xd, wd))
pd = tensor(*miopen.miopenGetPoolingForwardOutputDim(pool, yd))
x, w, b = (handle.asarray(rng.standard_normal(d), "float32") for d in ((2, 3, 8, 8), (4, 3, 3, 3), (1, 4, 1, 1)))
y, active, dy = (handle.empty((2, 4, 8, 8)) for _ in range(3))
pooled, dw = handle.empty((2, 4, 4, 4)), handle.empty((4, 3, 3, 3))

# Find is mandatory, for each problem and direction: workspace size, Find, and then the convolution
size = miopen.miopenConvolutionForwardGetWorkSpaceSize(handle, wd, xd, conv, yd)
workspace = handle.empty_bytes(size)
_, perfs = miopen.miopenFindConvolutionForwardAlgorithm(handle, xd, x, wd, w, conv, yd, y, 4, workspace, size, False)
for perf in perfs:
    print(f"{perf.fwd_algo}: {perf.time:.3f} ms, {perf.memory} bytes")
algo = perfs[0].fwd_algo  # the fastest
miopen.miopenConvolutionForward(handle, 1, xd, x, wd, w, conv, algo, 0, yd, y, workspace, size)
miopen.miopenConvolutionForwardBias(handle, 1, bd, b, 0, yd, y)  # beta is 0: MIOpen adds y itself
miopen.miopenActivationForward(handle, relu, 1, yd, y, 0, yd, active)

# Pooling keeps in its workspace what the way back needs, if it is told that there is one
indices_size = miopen.miopenPoolingGetWorkSpaceSizeV2(pool, pd)
indices = handle.empty_bytes(indices_size)
miopen.miopenPoolingForward(handle, pool, 1, yd, active, 0, pd, pooled, True, indices, indices_size)
print(f"forward: {np.abs(handle.to_numpy(pooled)).sum():.4f}")

# Backward, with the gradient 1 everywhere
ones = handle.asarray(np.ones((2, 4, 4, 4)), "float32")
miopen.miopenPoolingBackward(handle, pool, 1, pd, pooled, pd, ones, yd, active, 0, yd, dy, indices)
miopen.miopenActivationBackward(handle, relu, 1, yd, active, yd, dy, yd, y, 0, yd, dy)
size = miopen.miopenConvolutionBackwardWeightsGetWorkSpaceSize(handle, yd, xd, conv, wd)
workspace = handle.empty_bytes(size)
_, perfs = miopen.miopenFindConvolutionBackwardWeightsAlgorithm(
    handle, yd, dy, xd, x, conv, wd, dw, 1, workspace, size, False
)
algo = perfs[0].bwd_weights_algo
miopen.miopenConvolutionBackwardWeights(handle, 1, yd, dy, xd, x, conv, algo, 0, wd, dw, workspace, size)
print(f"gradient: {np.abs(handle.to_numpy(dw)).sum():.4f}")

miopen.miopenDestroy(handle)
