"""A convolution in MIOpen's order of calls: workspace size, Find, and only then the convolution itself."""

from __future__ import annotations

from typing import Any

from portadnn import miopen
from portadnn.miopen import (
    miopenConvolution,
    miopenConvolutionBwdDataAlgoDirect,
    miopenConvolutionBwdWeightsAlgoDirect,
    miopenConvolutionFwdAlgoImplicitGEMM,
    miopenFloat,
)


def tensor_4d(dims: tuple[int, ...]) -> Any:
    """Return a descriptor of a packed float tensor, or filter."""
    desc = miopen.miopenCreateTensorDescriptor()
    miopen.miopenSet4dTensorDescriptor(desc, miopenFloat, *dims)
    return desc


class Convolution:
    """The three directions for one layer: all Find calls are made here, with the memory of the layer."""

    def __init__(self, handle: Any, x_dims: tuple[int, ...], w_dims: tuple[int, ...], padding: int):
        self.handle = handle
        self.conv = miopen.miopenCreateConvolutionDescriptor()
        miopen.miopenInitConvolutionDescriptor(self.conv, miopenConvolution, padding, padding, 1, 1, 1, 1)
        self.x_desc, self.w_desc = tensor_4d(x_dims), tensor_4d(w_dims)
        self.y_dims = miopen.miopenGetConvolutionForwardOutputDim(self.conv, self.x_desc, self.w_desc)
        self.y_desc = tensor_4d(self.y_dims)
        self.forward_workspace = self._find_forward()
        self.data_workspace = self._find_backward_data()
        self.weights_workspace = self._find_backward_weights()

    def _buffers(self, size: int) -> tuple[Any, Any, Any, Any]:
        """Return memory that Find may compute with and write to, and the workspace."""
        return *(self.handle.empty(dims) for dims in (self._x, self._w, self.y_dims)), self.handle.empty_bytes(size)

    @property
    def _x(self) -> tuple[int, ...]:
        return miopen.miopenGet4dTensorDescriptor(self.x_desc)[1:5]

    @property
    def _w(self) -> tuple[int, ...]:
        return miopen.miopenGet4dTensorDescriptor(self.w_desc)[1:5]

    def _find_forward(self) -> Any:
        handle, x_desc, w_desc, conv, y_desc = self.handle, self.x_desc, self.w_desc, self.conv, self.y_desc
        size = miopen.miopenConvolutionForwardGetWorkSpaceSize(handle, w_desc, x_desc, conv, y_desc)
        x, w, y, workspace = self._buffers(size)
        _, perfs = miopen.miopenFindConvolutionForwardAlgorithm(
            handle, x_desc, x, w_desc, w, conv, y_desc, y, 8, workspace, size, False
        )
        chosen = next(perf for perf in perfs if perf.fwd_algo == miopenConvolutionFwdAlgoImplicitGEMM)
        return handle.empty_bytes(chosen.memory), chosen.memory

    def _find_backward_data(self) -> Any:
        handle, x_desc, w_desc, conv, y_desc = self.handle, self.x_desc, self.w_desc, self.conv, self.y_desc
        size = miopen.miopenConvolutionBackwardDataGetWorkSpaceSize(handle, y_desc, w_desc, conv, x_desc)
        dx, w, dy, workspace = self._buffers(size)
        _, perfs = miopen.miopenFindConvolutionBackwardDataAlgorithm(
            handle, y_desc, dy, w_desc, w, conv, x_desc, dx, 8, workspace, size, False
        )
        chosen = next(perf for perf in perfs if perf.bwd_data_algo == miopenConvolutionBwdDataAlgoDirect)
        return handle.empty_bytes(chosen.memory), chosen.memory

    def _find_backward_weights(self) -> Any:
        handle, x_desc, w_desc, conv, y_desc = self.handle, self.x_desc, self.w_desc, self.conv, self.y_desc
        size = miopen.miopenConvolutionBackwardWeightsGetWorkSpaceSize(handle, y_desc, x_desc, conv, w_desc)
        x, dw, dy, workspace = self._buffers(size)
        _, perfs = miopen.miopenFindConvolutionBackwardWeightsAlgorithm(
            handle, y_desc, dy, x_desc, x, conv, w_desc, dw, 8, workspace, size, False
        )
        chosen = next(perf for perf in perfs if perf.bwd_weights_algo == miopenConvolutionBwdWeightsAlgoDirect)
        return handle.empty_bytes(chosen.memory), chosen.memory

    def forward(self, x: Any, w: Any, y: Any) -> None:
        """Compute y."""
        algo = miopenConvolutionFwdAlgoImplicitGEMM
        miopen.miopenConvolutionForward(
            self.handle, 1, self.x_desc, x, self.w_desc, w, self.conv, algo, 0, self.y_desc, y, *self.forward_workspace
        )

    def backward_data(self, dy: Any, w: Any, dx: Any) -> None:
        """Compute dx."""
        algo = miopenConvolutionBwdDataAlgoDirect
        miopen.miopenConvolutionBackwardData(
            self.handle, 1, self.y_desc, dy, self.w_desc, w, self.conv, algo, 0, self.x_desc, dx, *self.data_workspace
        )

    def backward_weights(self, dy: Any, x: Any, dw: Any) -> None:
        """Compute dw."""
        algo, workspace = miopenConvolutionBwdWeightsAlgoDirect, self.weights_workspace
        miopen.miopenConvolutionBackwardWeights(
            self.handle, 1, self.y_desc, dy, self.x_desc, x, self.conv, algo, 0, self.w_desc, dw, *workspace
        )
