"""The guide's numbers for what computes a convolution directly: without a workspace, and the same every time."""

from __future__ import annotations

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionFwdAlgo, DnnEnum
from portadnn.ops.convolution.calls import ConvolutionBackwardData, ConvolutionBackwardFilter, ConvolutionForward
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem


def direct(problem: Problem) -> DnnEnum | None:
    """Return the direct algorithm of a convolution; None for other problems."""
    if isinstance(problem, (ConvolutionForward, ConvolutionBiasActivationForward)):
        return ConvolutionFwdAlgo.IMPLICIT_GEMM
    if isinstance(problem, ConvolutionBackwardData):
        return ConvolutionBwdDataAlgo.ALGO_1
    if isinstance(problem, ConvolutionBackwardFilter):
        return ConvolutionBwdFilterAlgo.ALGO_1
    return None
