/* What code for older cuDNN needs on cuDNN 9: written by `portadnn port --target cudnn-9`, to keep and to change.
 *
 * cuDNN 8 removed the functions that choose an algorithm by a preference. These choose among what the heuristics of
 * cudnnGetConvolution*Algorithm_v7 give: the first whose workspace is within a limit.
 */
#ifndef PORTADNN_CUDNN9_H
#define PORTADNN_CUDNN9_H

#include <cudnn.h>

#define PORTADNN_CHOOSE(NAME, SEARCH, PERF, ALGO, COUNT, FIRST, FIRST_DESC, SECOND, SECOND_DESC, THIRD, THIRD_DESC) \
    static inline cudnnStatus_t NAME(cudnnHandle_t handle,                                                           \
                                     FIRST FIRST_DESC,                                                               \
                                     SECOND SECOND_DESC,                                                             \
                                     cudnnConvolutionDescriptor_t convDesc,                                          \
                                     THIRD THIRD_DESC,                                                               \
                                     size_t limit,                                                                   \
                                     ALGO *algo)                                                                     \
    {                                                                                                                \
        PERF found[COUNT];                                                                                           \
        int count = 0, i;                                                                                            \
        cudnnStatus_t status =                                                                                       \
            SEARCH(handle, FIRST_DESC, SECOND_DESC, convDesc, THIRD_DESC, COUNT, &count, found);                     \
        for (i = 0; status == CUDNN_STATUS_SUCCESS && i < count; ++i)                                                \
        {                                                                                                            \
            if (found[i].status == CUDNN_STATUS_SUCCESS && found[i].memory <= limit)                                 \
            {                                                                                                        \
                *algo = found[i].algo;                                                                               \
                return CUDNN_STATUS_SUCCESS;                                                                         \
            }                                                                                                        \
        }                                                                                                            \
        return status == CUDNN_STATUS_SUCCESS ? CUDNN_STATUS_NOT_SUPPORTED : status;                                 \
    }

PORTADNN_CHOOSE(portadnn_get_convolution_forward_algorithm,
                cudnnGetConvolutionForwardAlgorithm_v7,
                cudnnConvolutionFwdAlgoPerf_t,
                cudnnConvolutionFwdAlgo_t,
                CUDNN_CONVOLUTION_FWD_ALGO_COUNT,
                cudnnTensorDescriptor_t,
                xDesc,
                cudnnFilterDescriptor_t,
                wDesc,
                cudnnTensorDescriptor_t,
                yDesc)
PORTADNN_CHOOSE(portadnn_get_convolution_backward_data_algorithm,
                cudnnGetConvolutionBackwardDataAlgorithm_v7,
                cudnnConvolutionBwdDataAlgoPerf_t,
                cudnnConvolutionBwdDataAlgo_t,
                CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT,
                cudnnFilterDescriptor_t,
                wDesc,
                cudnnTensorDescriptor_t,
                dyDesc,
                cudnnTensorDescriptor_t,
                dxDesc)
PORTADNN_CHOOSE(portadnn_get_convolution_backward_filter_algorithm,
                cudnnGetConvolutionBackwardFilterAlgorithm_v7,
                cudnnConvolutionBwdFilterAlgoPerf_t,
                cudnnConvolutionBwdFilterAlgo_t,
                CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT,
                cudnnTensorDescriptor_t,
                xDesc,
                cudnnTensorDescriptor_t,
                dyDesc,
                cudnnFilterDescriptor_t,
                dwDesc)

#endif /* PORTADNN_CUDNN9_H */
