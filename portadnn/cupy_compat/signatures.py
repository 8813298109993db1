"""The functions of CuPy 13's ``cupy.cuda.cudnn``: their names, their parameters, and what these are.

Each is one C function, named after the ``=`` where its name differs. Parameters that end in ``Desc``, plans and packs
are descriptors by their integers; ``[n]`` behind a name makes it the address of `n` of them or of `n` C integers; ``@``
is the address of an array or other memory, ``*`` that of a number in host memory, of the tensors' type, ``%`` a
real number, and ``^`` the type to compute with, float32 where that is float16. All others are integers. ``written.py``
has the functions that need more than that.
"""

import re
from typing import NamedTuple

_TEXT = """
createTensorDescriptor()
setTensor4dDescriptor(tensorDesc, format, dataType, n, c, h, w)
setTensor4dDescriptorEx(tensorDesc, dataType, n, c, h, w, nStride, cStride, hStride, wStride)
getTensor4dDescriptor(tensorDesc)
setTensorNdDescriptor(tensorDesc, dataType, nbDims, dimA[nbDims], strideA[nbDims])
destroyTensorDescriptor(tensorDesc)
addTensor_v3=AddTensor(handle, *alpha, bDesc, @b, *beta, yDesc, @y)
createOpTensorDescriptor()
setOpTensorDescriptor(opTensorDesc, opTensorOp, opTensorCompType, opTensorNanOpt)
getOpTensorDescriptor(opTensorDesc)
destroyOpTensorDescriptor(opTensorDesc)
opTensor(handle, opTensorDesc, *alpha1, aDesc, @A, *alpha2, bDesc, @B, *beta, cDesc, @C)
createReduceTensorDescriptor()
setReduceTensorDescriptor(reduceTensorDesc, reduceTensorOp, reduceTensorCompType, reduceTensorNanOpt,
    reduceTensorIndices, reduceTensorIndicesType)
getReduceTensorDescriptor(reduceTensorDesc)
destroyReduceTensorDescriptor(reduceTensorDesc)
getReductionIndicesSize(handle, reduceTensorDesc, aDesc, cDesc)
getReductionWorkspaceSize(handle, reduceTensorDesc, aDesc, cDesc)
reduceTensor(handle, reduceTensorDesc, @indices, indicesSizeInBytes, @workspace, workspaceSizeInBytes, *alpha, aDesc,
    @A, *beta, cDesc, @C)
setTensor(handle, yDesc, @y, *valuePtr)
scaleTensor(handle, yDesc, @y, *alpha)
createFilterDescriptor()
setFilter4dDescriptor_v4(filterDesc, dataType, format, k, c, h, w)
setFilterNdDescriptor_v4(filterDesc, dataType, format, nbDims, filterDimA[nbDims])
getFilterNdDescriptor=GetFilterNdDescriptor_v4(wDesc, nbDimsRequested)
destroyFilterDescriptor(filterDesc)
createConvolutionDescriptor()
setConvolutionMathType(convDesc, mathType)
getConvolutionMathType(convDesc)
setConvolutionGroupCount(convDesc, groupCount)
getConvolutionGroupCount(convDesc)
setConvolution2dDescriptor_v4(convDesc, pad_h, pad_w, u, v, dilation_h, dilation_w, mode)
setConvolution2dDescriptor_v5(convDesc, pad_h, pad_w, u, v, dilation_h, dilation_w, mode, ^computeType)
setConvolutionNdDescriptor_v3=SetConvolutionNdDescriptor(convDesc, arrayLength, padA[arrayLength],
    filterStrideA[arrayLength], dilationA[arrayLength], mode, ^dataType)
destroyConvolutionDescriptor(convDesc)
findConvolutionForwardAlgorithm(handle, xDesc, wDesc, convDesc, yDesc, requestedAlgoCount)
findConvolutionForwardAlgorithmEx(handle, xDesc, @x, wDesc, @w, convDesc, yDesc, @y, requestedAlgoCount, @workSpace,
    workSpaceSizeInBytes)
findConvolutionForwardAlgorithmEx_v7=FindConvolutionForwardAlgorithmEx(handle, xDesc, @x, wDesc, @w, convDesc, yDesc,
    @y, requestedAlgoCount, @workSpace, workSpaceSizeInBytes)
getConvolutionForwardAlgorithm_v6=GetConvolutionForwardAlgorithm(handle, srcDesc, filterDesc, convDesc, destDesc,
    preference, memoryLimitInbytes)
getConvolutionForwardAlgorithm_v7(handle, srcDesc, filterDesc, convDesc, destDesc, requestedAlgoCount)
getConvolutionForwardWorkspaceSize(handle, srcDesc, filterDesc, convDesc, destDesc, algo)
convolutionForward(handle, *alpha, srcDesc, @srcData, filterDesc, @filterData, convDesc, algo, @workSpace,
    workSpaceSizeInBytes, *beta, destDesc, @destData)
convolutionBackwardBias(handle, *alpha, srcDesc, @srcData, *beta, destDesc, @destData)
findConvolutionBackwardFilterAlgorithm(handle, xDesc, dyDesc, convDesc, dwDesc, requestedAlgoCount)
findConvolutionBackwardFilterAlgorithmEx(handle, xDesc, @x, dyDesc, @dy, convDesc, dwDesc, @dw, requestedAlgoCount,
    @workSpace, workSpaceSizeInBytes)
findConvolutionBackwardFilterAlgorithmEx_v7=FindConvolutionBackwardFilterAlgorithmEx(handle, xDesc, @x, dyDesc, @dy,
    convDesc, dwDesc, @dw, requestedAlgoCount, @workSpace, workSpaceSizeInBytes)
getConvolutionBackwardFilterAlgorithm_v6=GetConvolutionBackwardFilterAlgorithm(handle, srcDesc, diffDesc, convDesc,
    filterDesc, preference, memoryLimitInbytes)
getConvolutionBackwardFilterAlgorithm_v7(handle, srcDesc, diffDesc, convDesc, gradDesc, requestedAlgoCount)
getConvolutionBackwardFilterWorkspaceSize(handle, srcDesc, diffDesc, convDesc, filterDesc, algo)
convolutionBackwardFilter_v3=ConvolutionBackwardFilter(handle, *alpha, srcDesc, @srcData, diffDesc, @diffData,
    convDesc, algo, @workSpace, workSpaceSizeInBytes, *beta, gradDesc, @gradData)
findConvolutionBackwardDataAlgorithm(handle, wDesc, dyDesc, convDesc, dxDesc, requestedAlgoCount)
findConvolutionBackwardDataAlgorithmEx(handle, wDesc, @w, dyDesc, @dy, convDesc, dxDesc, @dx, requestedAlgoCount,
    @workSpace, workSpaceSizeInBytes)
findConvolutionBackwardDataAlgorithmEx_v7=FindConvolutionBackwardDataAlgorithmEx(handle, wDesc, @w, dyDesc, @dy,
    convDesc, dxDesc, @dx, requestedAlgoCount, @workSpace, workSpaceSizeInBytes)
getConvolutionBackwardDataAlgorithm_v6=GetConvolutionBackwardDataAlgorithm(handle, filterDesc, diffDesc, convDesc,
    gradDesc, preference, memoryLimitInbytes)
getConvolutionBackwardDataAlgorithm_v7(handle, filterDesc, diffDesc, convDesc, gradDesc, requestedAlgoCount)
getConvolutionBackwardDataWorkspaceSize(handle, filterDesc, diffDesc, convDesc, gradDesc, algo)
convolutionBackwardData_v3=ConvolutionBackwardData(handle, *alpha, filterDesc, @filterData, diffDesc, @diffData,
    convDesc, algo, @workSpace, workSpaceSizeInBytes, *beta, gradDesc, @gradData)
createPoolingDescriptor()
setPooling2dDescriptor_v4(poolingDesc, mode, maxpoolingNanOpt, windowHeight, windowWidth, verticalPadding,
    horizontalPadding, verticalStride, horizontalStride)
setPoolingNdDescriptor_v4(poolingDesc, mode, maxpoolingNanOpt, nbDims, windowDimA[nbDims], paddingA[nbDims],
    strideA[nbDims])
destroyPoolingDescriptor(poolingDesc)
poolingForward(handle, poolingDesc, *alpha, srcDesc, @srcData, *beta, dstDesc, @dstData)
poolingBackward(handle, poolingDesc, *alpha, srcDesc, @srcData, srcDiffDesc, @srcDiffData, destDesc, @destData, *beta,
    destDiffDesc, @destDiffData)
deriveBNTensorDescriptor(derivedBnDesc, xDesc, mode)
batchNormalizationForwardTraining(handle, mode, *alpha, *beta, xDesc, @x, yDesc, @y, bnScaleBiasMeanVarDesc, @bnScale,
    @bnBias, %exponentialAverageFactor, @resultRunningMean, @resultRunningVariance, %epsilon, @resultSaveMean,
    @resultSaveInvVariance)
batchNormalizationForwardInference(handle, mode, *alpha, *beta, xDesc, @x, yDesc, @y, bnScaleBiasMeanVarDesc,
    @bnScale, @bnBias, @estimatedMean, @estimatedVariance, %epsilon)
batchNormalizationBackward(handle, mode, *alphaDataDiff, *betaDataDiff, *alphaParamDiff, *betaParamDiff, xDesc, @x,
    dyDesc, @dy, dxDesc, @dx, dBnScaleBiasDesc, @bnScale, @dBnScaleResult, @dBnBiasResult, %epsilon, @savedMean,
    @savedInvVariance)
batchNormalizationForwardTrainingEx(handle, mode, bnOps, *alpha, *beta, xDesc, @x, zDesc, @z, yDesc, @y,
    bnScaleBiasMeanVarDesc, @bnScale, @bnBias, %exponentialAverageFactor, @resultRunningMean, @resultRunningVariance,
    %epsilon, @resultSaveMean, @resultSaveInvVariance, activationDesc, @workSpace, workSpaceSizeInBytes,
    @reserveSpace, reserveSpaceSizeInBytes)
getBatchNormalizationForwardTrainingExWorkspaceSize(handle, mode, bnOps, xDesc, zDesc, yDesc, bnScaleBiasMeanVarDesc,
    activationDesc)
batchNormalizationBackwardEx(handle, mode, bnops, *alphaDataDiff, *betaDataDiff, *alphaParamDiff, *betaParamDiff,
    xDesc, @x, yDesc, @y, dyDesc, @dy, dzDesc, @dz, dxDesc, @dx, dBnScaleBiasDesc, @bnScaleData, @bnBiasData,
    @dBnScaleData, @dBnBiasData, %epsilon, @savedMean, @savedInvVariance, activationDesc, @workSpace,
    workSpaceSizeInBytes, @reserveSpace, reserveSpaceSizeInBytes)
getBatchNormalizationBackwardExWorkspaceSize(handle, mode, bnOps, xDesc, yDesc, dyDesc, dzDesc, dxDesc,
    dBnScaleBiasDesc, activationDesc)
getBatchNormalizationTrainingExReserveSpaceSize(handle, mode, bnOps, activationDesc, xDesc)
createActivationDescriptor()
setActivationDescriptor(activationDesc, mode, reluNanOpt, %reluCeiling)
destroyActivationDescriptor(activationDesc)
softmaxForward(handle, algorithm, mode, *alpha, srcDesc, @srcData, *beta, dstDesc, @dstData)
softmaxBackward(handle, algorithm, mode, *alpha, srcDesc, @srcData, srcDiffDesc, @srcDiffData, *beta, destDiffDesc,
    @destDiffData)
activationForward_v4(handle, activationDesc, *alpha, srcDesc, @srcData, *beta, dstDesc, @dstData)
activationBackward_v4(handle, activationDesc, *alpha, srcDesc, @srcData, srcDiffDesc, @srcDiffData, destDesc,
    @destData, *beta, destDiffDesc, @destDiffData)
createDropoutDescriptor()
destroyDropoutDescriptor(dropoutDesc)
dropoutGetStatesSize(handle)
setDropoutDescriptor(dropoutDesc, handle, %dropout, @states, stateSizeInBytes, seed)
getDropoutReserveSpaceSize=DropoutGetReserveSpaceSize(xDesc)
dropoutForward(handle, dropoutDesc, srcDesc, @srcData, dstDesc, @dstData, @reserveSpace, reserveSpaceSizeInBytes)
dropoutBackward(handle, dropoutDesc, dyDesc, @dyData, dxDesc, @dxData, @reserveSpace, reserveSpaceSizeInBytes)
createCTCLossDescriptor()
destroyCTCLossDescriptor(ctcLossDesc)
setCTCLossDescriptor(ctcLossDesc, dataType)
getCTCLossDescriptor(ctcLossDesc)
createRNNDescriptor()
destroyRNNDescriptor(rnnDesc)
createPersistentRNNPlan(rnnDesc, minibatch, dataType)
setPersistentRNNPlan(rnnDesc, plan)
destroyPersistentRNNPlan(plan)
setRNNDescriptor_v5(rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, ^dataType)
setRNNDescriptor_v6(handle, rnnDesc, hiddenSize, numLayers, dropoutDesc, inputMode, direction, mode, algo, ^dataType)
setRNNPaddingMode(rnnDesc, paddingMode)
getRNNPaddingMode(rnnDesc)
createRNNDataDescriptor()
destroyRNNDataDescriptor(RNNDataDesc)
setRNNDataDescriptor(RNNDataDesc, dataType, layout, maxSeqLength, batchSize, vectorSize, seqLengthArray[batchSize],
    *paddingFill)
getRNNWorkspaceSize(handle, rnnDesc, seqLength, xDesc[seqLength])
getRNNTrainingReserveSize(handle, rnnDesc, seqLength, xDesc[seqLength])
getRNNParamsSize(handle, rnnDesc, xDesc, dataType)
RNNForwardInference(handle, rnnDesc, seqLength, xDesc[seqLength], @x, hxDesc, @hx, cxDesc, @cx, wDesc, @w,
    yDesc[seqLength], @y, hyDesc, @hy, cyDesc, @cy, @workspace, workSpaceSizeInBytes)
RNNForwardTraining(handle, rnnDesc, seqLength, xDesc[seqLength], @x, hxDesc, @hx, cxDesc, @cx, wDesc, @w,
    yDesc[seqLength], @y, hyDesc, @hy, cyDesc, @cy, @workspace, workSpaceSizeInBytes, @reserveSpace,
    reserveSpaceSizeInBytes)
RNNBackwardData(handle, rnnDesc, seqLength, yDesc[seqLength], @y, dyDesc[seqLength], @dy, dhyDesc, @dhy, dcyDesc,
    @dcy, wDesc, @w, hxDesc, @hx, cxDesc, @cx, dxDesc[seqLength], @dx, dhxDesc, @dhx, dcxDesc, @dcx, @workspace,
    workSpaceSizeInBytes, @reserveSpace, reserveSpaceSizeInBytes)
RNNBackwardWeights(handle, rnnDesc, seqLength, xDesc[seqLength], @x, hxDesc, @hx, yDesc[seqLength], @y, @workspace,
    workSpaceSizeInBytes, dwDesc, @dw, @reserveSpace, reserveSpaceSizeInBytes)
RNNForwardInferenceEx(handle, rnnDesc, xDesc, @x, hxDesc, @hx, cxDesc, @cx, wDesc, @w, yDesc, @y, hyDesc, @hy, cyDesc,
    @cy, kDesc, @keys, cDesc, @cAttn, iDesc, @iAttn, qDesc, @queries, @workSpace, workSpaceSizeInBytes)
RNNForwardTrainingEx(handle, rnnDesc, xDesc, @x, hxDesc, @hx, cxDesc, @cx, wDesc, @w, yDesc, @y, hyDesc, @hy, cyDesc,
    @cy, kDesc, @keys, cDesc, @cAttn, iDesc, @iAttn, qDesc, @queries, @workSpace, workSpaceSizeInBytes, @reserveSpace,
    reserveSpaceSizeInBytes)
RNNBackwardDataEx(handle, rnnDesc, yDesc, @y, dyDesc, @dy, dcDesc, @dcAttn, dhyDesc, @dhy, dcyDesc, @dcy, wDesc, @w,
    hxDesc, @hx, cxDesc, @cx, dxDesc, @dx, dhxDesc, @dhx, dcxDesc, @dcx, dkDesc, @dkeys, @workSpace,
    workSpaceSizeInBytes, @reserveSpace, reserveSpaceSizeInBytes)
RNNBackwardWeightsEx(handle, rnnDesc, xDesc, @x, hxDesc, @hx, yDesc, @y, @workSpace, workSpaceSizeInBytes, dwDesc,
    @dw, @reserveSpace, reserveSpaceSizeInBytes)
createSpatialTransformerDescriptor()
destroySpatialTransformerDescriptor(stDesc)
setSpatialTransformerDescriptor=SetSpatialTransformerNdDescriptor(stDesc, samplerType, dataType, nbDims, dimA[nbDims])
spatialTfGridGeneratorForward(handle, stDesc, @theta, @grid)
spatialTfGridGeneratorBackward(handle, stDesc, @dgrid, @dtheta)
spatialTfSamplerForward(handle, stDesc, *alpha, xDesc, @x, @grid, *beta, yDesc, @y)
spatialTfSamplerBackward(handle, stDesc, *alpha, xDesc, @x, *beta, dxDesc, @dx, *alphaDgrid, dyDesc, @dy, @grid,
    *betaDgrid, @dgrid)
createFusedOpsConstParamPack(ops)
destroyFusedOpsConstParamPack(constPack)
setFusedOpsConstParamPackAttribute(constPack, paramLabel, @param)
getFusedOpsConstParamPackAttribute(constPack, paramLabel, @param)
createFusedOpsVariantParamPack(ops)
destroyFusedOpsVariantParamPack(varPack)
setFusedOpsVariantParamPackAttribute(varPack, paramLabel, @ptr)
getFusedOpsVariantParamPackAttribute(varPack, paramLabel, @ptr)
createFusedOpsPlan(ops)
destroyFusedOpsPlan(plan)
makeFusedOpsPlan(handle, plan, constPack)
fusedOpsExecute(handle, plan, varPack)
"""


class Parameter(NamedTuple):
    """A parameter: its mark, one of ``@*%^`` or nothing, its name, and the name of the one that counts it."""

    mark: str
    name: str
    counted_by: str

    @property
    def is_descriptor(self) -> bool:
        """Whether it is a descriptor, or several."""
        return self.name.endswith("Desc") or self.name in ("plan", "constPack", "varPack")


def functions() -> dict[str, tuple[str, tuple[Parameter, ...]]]:
    """Return the C function and the parameters of each function."""
    found = {}
    for name, c_name, listed in re.findall(r"(\w+)(?:=(\w+))?\(([^)]*)\)", _TEXT):
        parameters = re.findall(r"([@*%^]?)(\w+)(?:\[(\w+)\])?", listed)
        found[name] = (f"cudnn{c_name or name[0].upper() + name[1:]}", tuple(Parameter(*p) for p in parameters))
    return found
