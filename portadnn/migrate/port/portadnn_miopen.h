/* What ported code needs besides the calls of MIOpen: written by `portadnn port`, to keep and to change.
 *
 * The convolutions here run MIOpen's Find when they meet a problem for the first time, and add to what is there where
 * beta is not 0, which MIOpen's own do not. Pooling and LRN keep, for each output, the workspace in which the forward
 * pass leaves what the backward pass needs. Nothing of this is freed before the program ends, and it is not meant for
 * several threads at a time.
 */
#ifndef PORTADNN_MIOPEN_H
#define PORTADNN_MIOPEN_H

#include <hip/hip_runtime_api.h>
#include <miopen/miopen.h>
#include <miopen/version.h>
#include <stdlib.h>
#include <string.h>

/* 0 as a float and as a double: all of its bits are 0. */
static const double portadnn_zero = 0.0;

/* Memory by what it belongs to ------------------------------------------------------------------------------------ */

typedef struct portadnn_memory {
    const void *owner;
    int use;
    void *memory;
    size_t size;
    struct portadnn_memory *next;
} portadnn_memory;

enum { PORTADNN_FORWARD, PORTADNN_BACKWARD_DATA, PORTADNN_BACKWARD_WEIGHTS, PORTADNN_SUM, PORTADNN_LAYER };

typedef struct portadnn_problem {
    miopenHandle_t handle;
    int direction;
    int types[3];
    int sizes[3];
    int lengths[3][8];
    int strides[3][8];
    int convolution[16];
} portadnn_problem;

typedef struct portadnn_found {
    portadnn_problem problem;
    miopenConvAlgoPerf_t perf;
    struct portadnn_found *next;
} portadnn_found;

/* One of each in a program, however many of its files include this. */
#ifdef _MSC_VER
#define PORTADNN_SHARED __declspec(selectany)
#else
#define PORTADNN_SHARED __attribute__((weak))
#endif
#ifdef __cplusplus
extern "C" {
#endif
PORTADNN_SHARED portadnn_memory *portadnn_memories = NULL;
PORTADNN_SHARED portadnn_found *portadnn_finds = NULL;
#ifdef __cplusplus
}
#endif

/* Give the memory of an owner, at least `size` bytes of it; what was in less than that is lost. */
static inline miopenStatus_t portadnn_take(const void *owner, int use, size_t size, void **memory)
{
    portadnn_memory *entry = portadnn_memories;
    while(entry != NULL && (entry->owner != owner || entry->use != use))
        entry = entry->next;
    if(entry == NULL)
    {
        entry = (portadnn_memory *)calloc(1, sizeof(portadnn_memory));
        if(entry == NULL)
            return miopenStatusAllocFailed;
        entry->owner      = owner;
        entry->use        = use;
        entry->next       = portadnn_memories;
        portadnn_memories = entry;
    }
    if(entry->size < size)
    {
        (void)hipFree(entry->memory);
        entry->memory = NULL;
        entry->size   = 0;
        if(hipMalloc(&entry->memory, size) != hipSuccess)
            return miopenStatusAllocFailed;
        entry->size = size;
    }
    *memory = entry->memory;
    return miopenStatusSuccess;
}

/* Read alpha or beta, which is a double where the tensor is. */
static inline miopenStatus_t portadnn_factor(miopenTensorDescriptor_t desc, const void *given, float *factor)
{
    miopenDataType_t type;
    int lengths[8], strides[8];
    miopenStatus_t status = miopenGetTensorDescriptor(desc, &type, lengths, strides);
    if(status != miopenStatusSuccess)
        return status;
#if MIOPEN_VERSION_MAJOR >= 3
    *factor = type == miopenDouble ? (float)*(const double *)given : *(const float *)given;
#else
    *factor = *(const float *)given;
#endif
    return miopenStatusSuccess;
}

/* y = alpha * x + beta * y for tensors of one descriptor. */
static inline miopenStatus_t portadnn_add(
    miopenHandle_t handle, float alpha, miopenTensorDescriptor_t desc, const void *x, float beta, void *y)
{
    return miopenOpTensor(handle, miopenTensorOpAdd, &beta, desc, y, &alpha, desc, x, &portadnn_zero, desc, y);
}

/* C = alpha * A + beta * C, where A may have lengths of 1; what is in C is not read where beta is 0. */
static inline miopenStatus_t portadnn_add_tensor(miopenHandle_t handle,
                                                 const void *alpha,
                                                 miopenTensorDescriptor_t aDesc,
                                                 const void *A,
                                                 const void *beta,
                                                 miopenTensorDescriptor_t cDesc,
                                                 void *C)
{
    miopenDataType_t type;
    int aLengths[8] = {0}, cLengths[8] = {0}, strides[8];
    float added, kept;
    miopenStatus_t status;
    if((status = portadnn_factor(cDesc, alpha, &added)) != miopenStatusSuccess ||
       (status = portadnn_factor(cDesc, beta, &kept)) != miopenStatusSuccess ||
       (status = miopenGetTensorDescriptor(aDesc, &type, aLengths, strides)) != miopenStatusSuccess ||
       (status = miopenGetTensorDescriptor(cDesc, &type, cLengths, strides)) != miopenStatusSuccess)
        return status;
    if(kept == 0.0f)
    {
        if(memcmp(aLengths, cLengths, sizeof(aLengths)) == 0)
            return miopenTransformTensor(handle, &added, aDesc, A, &kept, cDesc, C);
        if((status = miopenSetTensor(handle, cDesc, C, &portadnn_zero)) != miopenStatusSuccess)
            return status;
    }
    return miopenOpTensor(handle, miopenTensorOpAdd, &kept, cDesc, C, &added, aDesc, A, &portadnn_zero, cDesc, C);
}

#if MIOPEN_VERSION_MAJOR >= 3
/* Describe a tensor or a filter by its lengths in the order n, c, h, w, packed as the format says. */
static inline miopenStatus_t portadnn_set_4d_tensor(miopenTensorDescriptor_t desc,
                                                    miopenTensorLayout_t format,
                                                    miopenDataType_t type,
                                                    int n,
                                                    int c,
                                                    int h,
                                                    int w)
{
    if(format == miopenTensorNCHW)
        return miopenSet4dTensorDescriptor(desc, type, n, c, h, w);
    if(format == miopenTensorNHWC)
        return miopenSet4dTensorDescriptorEx(desc, type, n, c, h, w, h * w * c, 1, w * c, c);
    return miopenStatusNotImplemented;
}
#endif

/* Convolutions ---------------------------------------------------------------------------------------------------- */

static inline miopenStatus_t portadnn_describe(miopenTensorDescriptor_t desc, portadnn_problem *problem, int place)
{
    miopenDataType_t type;
    miopenStatus_t status = miopenGetTensorDescriptorSize(desc, &problem->sizes[place]);
    if(status == miopenStatusSuccess && problem->sizes[place] > 6)
        return miopenStatusBadParm;
    if(status == miopenStatusSuccess)
        status = miopenGetTensorDescriptor(desc, &type, problem->lengths[place], problem->strides[place]);
    if(status == miopenStatusSuccess)
        problem->types[place] = (int)type;
    return status;
}

static inline miopenStatus_t portadnn_describe_convolution(miopenConvolutionDescriptor_t desc, int dims, int *told)
{
    miopenConvolutionMode_t mode;
    miopenStatus_t status;
#if MIOPEN_VERSION_MAJOR >= 2
    status = miopenGetConvolutionNdDescriptor(desc, dims, &told[0], &told[1], &told[5], &told[9], &mode);
#else
    (void)dims;
    status = miopenGetConvolutionDescriptor(
        desc, &mode, &told[1], &told[2], &told[5], &told[6], &told[9], &told[10]);
#endif
    told[13] = (int)mode;
    return status;
}

static inline miopenStatus_t portadnn_workspace_size(int direction,
                                                     miopenHandle_t handle,
                                                     miopenTensorDescriptor_t aDesc,
                                                     miopenTensorDescriptor_t bDesc,
                                                     miopenConvolutionDescriptor_t convDesc,
                                                     miopenTensorDescriptor_t cDesc,
                                                     size_t *size)
{
    if(direction == PORTADNN_FORWARD)
        return miopenConvolutionForwardGetWorkSpaceSize(handle, bDesc, aDesc, convDesc, cDesc, size);
    if(direction == PORTADNN_BACKWARD_DATA)
        return miopenConvolutionBackwardDataGetWorkSpaceSize(handle, aDesc, bDesc, convDesc, cDesc, size);
    return miopenConvolutionBackwardWeightsGetWorkSpaceSize(handle, aDesc, bDesc, convDesc, cDesc, size);
}

/* Find the algorithm of a problem, or give what was found for the same before. */
static inline miopenStatus_t portadnn_find(int direction,
                                           miopenHandle_t handle,
                                           miopenTensorDescriptor_t aDesc,
                                           const void *a,
                                           miopenTensorDescriptor_t bDesc,
                                           const void *b,
                                           miopenConvolutionDescriptor_t convDesc,
                                           miopenTensorDescriptor_t cDesc,
                                           void *c,
                                           void *workSpace,
                                           size_t workSpaceSize,
                                           miopenConvAlgoPerf_t *perf)
{
    portadnn_problem problem;
    portadnn_found *found;
    miopenStatus_t status;
    int count = 0;
    memset(&problem, 0, sizeof(problem));
    problem.handle    = handle;
    problem.direction = direction;
    if((status = portadnn_describe(aDesc, &problem, 0)) != miopenStatusSuccess ||
       (status = portadnn_describe(bDesc, &problem, 1)) != miopenStatusSuccess ||
       (status = portadnn_describe(cDesc, &problem, 2)) != miopenStatusSuccess ||
       (status = portadnn_describe_convolution(convDesc, problem.sizes[0] - 2, problem.convolution)) !=
           miopenStatusSuccess)
        return status;
    for(found = portadnn_finds; found != NULL; found = found->next)
    {
        if(memcmp(&found->problem, &problem, sizeof(problem)) == 0 && found->perf.memory <= workSpaceSize)
        {
            *perf = found->perf;
            return miopenStatusSuccess;
        }
    }
    if(direction == PORTADNN_FORWARD)
        status = miopenFindConvolutionForwardAlgorithm(
            handle, aDesc, a, bDesc, b, convDesc, cDesc, c, 1, &count, perf, workSpace, workSpaceSize, false);
    else if(direction == PORTADNN_BACKWARD_DATA)
        status = miopenFindConvolutionBackwardDataAlgorithm(
            handle, aDesc, a, bDesc, b, convDesc, cDesc, c, 1, &count, perf, workSpace, workSpaceSize, false);
    else
        status = miopenFindConvolutionBackwardWeightsAlgorithm(
            handle, aDesc, a, bDesc, b, convDesc, cDesc, c, 1, &count, perf, workSpace, workSpaceSize, false);
    if(status != miopenStatusSuccess || count < 1)
        return status != miopenStatusSuccess ? status : miopenStatusNotImplemented;
    found = (portadnn_found *)calloc(1, sizeof(portadnn_found));
    if(found == NULL)
        return miopenStatusAllocFailed;
    found->problem = problem;
    found->perf    = *perf;
    found->next    = portadnn_finds;
    portadnn_finds = found;
    return miopenStatusSuccess;
}

static inline miopenStatus_t portadnn_convolve(int direction,
                                               miopenHandle_t handle,
                                               const void *alpha,
                                               miopenTensorDescriptor_t aDesc,
                                               const void *a,
                                               miopenTensorDescriptor_t bDesc,
                                               const void *b,
                                               miopenConvolutionDescriptor_t convDesc,
                                               const void *beta,
                                               miopenTensorDescriptor_t cDesc,
                                               void *c,
                                               void *workSpace,
                                               size_t workSpaceSize)
{
    const float one = 1.0f;
    float scale, kept;
    size_t size  = 0;
    void *result = c;
    miopenConvAlgoPerf_t perf;
    miopenStatus_t status;
    if((status = portadnn_factor(cDesc, alpha, &scale)) != miopenStatusSuccess ||
       (status = portadnn_factor(cDesc, beta, &kept)) != miopenStatusSuccess)
        return status;
    if(kept != 0.0f) /* neither Find nor the convolution may touch what is added to */
    {
        if((status = miopenGetTensorNumBytes(cDesc, &size)) != miopenStatusSuccess ||
           (status = portadnn_take(c, PORTADNN_SUM, size, &result)) != miopenStatusSuccess)
            return status;
    }
    if(workSpaceSize == 0) /* cuDNN chose an algorithm without workspace: MIOpen may have none */
    {
        if((status = portadnn_workspace_size(direction, handle, aDesc, bDesc, convDesc, cDesc, &workSpaceSize)) !=
               miopenStatusSuccess ||
           (status = portadnn_take(handle, direction, workSpaceSize, &workSpace)) != miopenStatusSuccess)
            return status;
    }
    if((status = portadnn_find(direction,
                               handle,
                               aDesc,
                               a,
                               bDesc,
                               b,
                               convDesc,
                               cDesc,
                               result,
                               workSpace,
                               workSpaceSize,
                               &perf)) != miopenStatusSuccess)
        return status;
    if(direction == PORTADNN_FORWARD)
        status = miopenConvolutionForward(handle,
                                          &one,
                                          aDesc,
                                          a,
                                          bDesc,
                                          b,
                                          convDesc,
                                          perf.fwd_algo,
                                          &portadnn_zero,
                                          cDesc,
                                          result,
                                          workSpace,
                                          workSpaceSize);
    else if(direction == PORTADNN_BACKWARD_DATA)
        status = miopenConvolutionBackwardData(handle,
                                               &one,
                                               aDesc,
                                               a,
                                               bDesc,
                                               b,
                                               convDesc,
                                               perf.bwd_data_algo,
                                               &portadnn_zero,
                                               cDesc,
                                               result,
                                               workSpace,
                                               workSpaceSize);
    else
        status = miopenConvolutionBackwardWeights(handle,
                                                  &one,
                                                  aDesc,
                                                  a,
                                                  bDesc,
                                                  b,
                                                  convDesc,
                                                  perf.bwd_weights_algo,
                                                  &portadnn_zero,
                                                  cDesc,
                                                  result,
                                                  workSpace,
                                                  workSpaceSize);
    if(status != miopenStatusSuccess)
        return status;
    if(kept != 0.0f)
        return portadnn_add(handle, scale, cDesc, result, kept, c);
    return scale == 1.0f ? status : miopenScaleTensor(handle, cDesc, c, &scale);
}

static inline miopenStatus_t portadnn_convolution_forward(miopenHandle_t handle,
                                                          const void *alpha,
                                                          miopenTensorDescriptor_t xDesc,
                                                          const void *x,
                                                          miopenTensorDescriptor_t wDesc,
                                                          const void *w,
                                                          miopenConvolutionDescriptor_t convDesc,
                                                          const void *beta,
                                                          miopenTensorDescriptor_t yDesc,
                                                          void *y,
                                                          void *workSpace,
                                                          size_t workSpaceSize)
{
    return portadnn_convolve(
        PORTADNN_FORWARD, handle, alpha, xDesc, x, wDesc, w, convDesc, beta, yDesc, y, workSpace, workSpaceSize);
}

static inline miopenStatus_t portadnn_convolution_backward_data(miopenHandle_t handle,
                                                                const void *alpha,
                                                                miopenTensorDescriptor_t dyDesc,
                                                                const void *dy,
                                                                miopenTensorDescriptor_t wDesc,
                                                                const void *w,
                                                                miopenConvolutionDescriptor_t convDesc,
                                                                const void *beta,
                                                                miopenTensorDescriptor_t dxDesc,
                                                                void *dx,
                                                                void *workSpace,
                                                                size_t workSpaceSize)
{
    return portadnn_convolve(
        PORTADNN_BACKWARD_DATA, handle, alpha, dyDesc, dy, wDesc, w, convDesc, beta, dxDesc, dx, workSpace, workSpaceSize);
}

static inline miopenStatus_t portadnn_convolution_backward_weights(miopenHandle_t handle,
                                                                   const void *alpha,
                                                                   miopenTensorDescriptor_t dyDesc,
                                                                   const void *dy,
                                                                   miopenTensorDescriptor_t xDesc,
                                                                   const void *x,
                                                                   miopenConvolutionDescriptor_t convDesc,
                                                                   const void *beta,
                                                                   miopenTensorDescriptor_t dwDesc,
                                                                   void *dw,
                                                                   void *workSpace,
                                                                   size_t workSpaceSize)
{
    return portadnn_convolve(PORTADNN_BACKWARD_WEIGHTS,
                             handle,
                             alpha,
                             dyDesc,
                             dy,
                             xDesc,
                             x,
                             convDesc,
                             beta,
                             dwDesc,
                             dw,
                             workSpace,
                             workSpaceSize);
}

/* db = alpha * (sum of dy over all but its channels) + beta * db: a reduction from MIOpen 3 on, because MIOpen 3.6
 * returns miopenStatusNotImplemented for miopenConvolutionBackwardBias. */
static inline miopenStatus_t portadnn_convolution_backward_bias(miopenHandle_t handle,
                                                                const void *alpha,
                                                                miopenTensorDescriptor_t dyDesc,
                                                                const void *dy,
                                                                const void *beta,
                                                                miopenTensorDescriptor_t dbDesc,
                                                                void *db)
{
#if MIOPEN_VERSION_MAJOR >= 3
    static miopenReduceTensorDescriptor_t sum = NULL;
    size_t size = 0;
    void *space = NULL;
    miopenStatus_t status;
    if(sum == NULL && ((status = miopenCreateReduceTensorDescriptor(&sum)) != miopenStatusSuccess ||
                       (status = miopenSetReduceTensorDescriptor(sum,
                                                                 MIOPEN_REDUCE_TENSOR_ADD,
                                                                 miopenFloat,
                                                                 MIOPEN_PROPAGATE_NAN,
                                                                 MIOPEN_REDUCE_TENSOR_NO_INDICES,
                                                                 MIOPEN_32BIT_INDICES)) != miopenStatusSuccess))
        return status;
    if((status = miopenGetReductionWorkspaceSize(handle, sum, dyDesc, dbDesc, &size)) != miopenStatusSuccess ||
       (status = portadnn_take(db, PORTADNN_SUM, size, &space)) != miopenStatusSuccess)
        return status;
    return miopenReduceTensor(handle, sum, NULL, 0, space, size, alpha, dyDesc, dy, beta, dbDesc, db);
#else
    const float one = 1.0f;
    float scale, kept;
    size_t size  = 0;
    void *result = db;
    miopenStatus_t status;
    if((status = portadnn_factor(dbDesc, alpha, &scale)) != miopenStatusSuccess ||
       (status = portadnn_factor(dbDesc, beta, &kept)) != miopenStatusSuccess)
        return status;
    if(kept != 0.0f)
    {
        if((status = miopenGetTensorNumBytes(dbDesc, &size)) != miopenStatusSuccess ||
           (status = portadnn_take(db, PORTADNN_SUM, size, &result)) != miopenStatusSuccess)
            return status;
    }
    status = miopenConvolutionBackwardBias(handle, &one, dyDesc, dy, &portadnn_zero, dbDesc, result);
    if(status != miopenStatusSuccess)
        return status;
    if(kept != 0.0f)
        return portadnn_add(handle, scale, dbDesc, result, kept, db);
    return scale == 1.0f ? status : miopenScaleTensor(handle, dbDesc, db, &scale);
#endif
}

/* y = activation(alpha1 * convolution + alpha2 * z + bias), one after another: MIOpen fuses them with RELU alone. */
static inline miopenStatus_t portadnn_convolution_bias_activation_forward(miopenHandle_t handle,
                                                                          const void *alpha1,
                                                                          miopenTensorDescriptor_t xDesc,
                                                                          const void *x,
                                                                          miopenTensorDescriptor_t wDesc,
                                                                          const void *w,
                                                                          miopenConvolutionDescriptor_t convDesc,
                                                                          void *workSpace,
                                                                          size_t workSpaceSize,
                                                                          const void *alpha2,
                                                                          miopenTensorDescriptor_t zDesc,
                                                                          const void *z,
                                                                          miopenTensorDescriptor_t biasDesc,
                                                                          const void *bias,
                                                                          miopenActivationDescriptor_t activDesc,
                                                                          miopenTensorDescriptor_t yDesc,
                                                                          void *y)
{
    const float one = 1.0f;
    const void *beta = z == y ? alpha2 : (const void *)&portadnn_zero;
    double coefficients[3];
    float added;
    miopenActivationMode_t mode;
    miopenStatus_t status;
    if((status = portadnn_factor(yDesc, alpha2, &added)) != miopenStatusSuccess ||
       (status = miopenGetActivationDescriptor(
            activDesc, &mode, &coefficients[0], &coefficients[1], &coefficients[2])) != miopenStatusSuccess ||
       (status = portadnn_convolve(PORTADNN_FORWARD,
                                   handle,
                                   alpha1,
                                   xDesc,
                                   x,
                                   wDesc,
                                   w,
                                   convDesc,
                                   beta,
                                   yDesc,
                                   y,
                                   workSpace,
                                   workSpaceSize)) != miopenStatusSuccess)
        return status;
    if(z != y && added != 0.0f)
        status = miopenOpTensor(
            handle, miopenTensorOpAdd, &one, yDesc, y, &added, zDesc, z, &portadnn_zero, yDesc, y);
    if(status == miopenStatusSuccess)
        status = miopenOpTensor(
            handle, miopenTensorOpAdd, &one, yDesc, y, &one, biasDesc, bias, &portadnn_zero, yDesc, y);
    if(status == miopenStatusSuccess && mode != (miopenActivationMode_t)0) /* 0 passes values through */
        status = miopenActivationForward(handle, activDesc, &one, yDesc, y, &portadnn_zero, yDesc, y);
    return status;
}

static inline miopenStatus_t portadnn_batch_normalization_backward(miopenHandle_t handle,
                                                                   miopenBatchNormMode_t mode,
                                                                   const void *alphaDataDiff,
                                                                   const void *betaDataDiff,
                                                                   const void *alphaParamDiff,
                                                                   const void *betaParamDiff,
                                                                   miopenTensorDescriptor_t xDesc,
                                                                   const void *x,
                                                                   miopenTensorDescriptor_t dyDesc,
                                                                   const void *dy,
                                                                   miopenTensorDescriptor_t dxDesc,
                                                                   void *dx,
                                                                   miopenTensorDescriptor_t paramDesc,
                                                                   const void *scale,
                                                                   void *dscale,
                                                                   void *dbias,
                                                                   double epsilon,
                                                                   const void *savedMean,
                                                                   const void *savedInvVariance)
{
    float one = 1.0f, zero = 0.0f;
    float scales[2], kept[2];
    void *given[3], *results[3];
    miopenTensorDescriptor_t descs[3];
    size_t size = 0;
    miopenStatus_t status;
    int i;
    if((status = portadnn_factor(dxDesc, alphaDataDiff, &scales[0])) != miopenStatusSuccess ||
       (status = portadnn_factor(dxDesc, betaDataDiff, &kept[0])) != miopenStatusSuccess ||
       (status = portadnn_factor(dxDesc, alphaParamDiff, &scales[1])) != miopenStatusSuccess ||
       (status = portadnn_factor(dxDesc, betaParamDiff, &kept[1])) != miopenStatusSuccess)
        return status;
    given[0] = dx;
    given[1] = dscale;
    given[2] = dbias;
    for(i = 0; i < 3; ++i)
    {
        descs[i]   = i == 0 ? dxDesc : paramDesc;
        results[i] = given[i];
        if(kept[i > 0] == 0.0f)
            continue;
        if((status = miopenGetTensorNumBytes(descs[i], &size)) != miopenStatusSuccess ||
           (status = portadnn_take(given[i], PORTADNN_SUM, size, &results[i])) != miopenStatusSuccess)
            return status;
    }
    status = miopenBatchNormalizationBackward(handle,
                                              mode,
                                              &one,
                                              &zero,
                                              &one,
                                              &zero,
                                              xDesc,
                                              x,
                                              dyDesc,
                                              dy,
                                              dxDesc,
                                              results[0],
                                              paramDesc,
                                              scale,
                                              results[1],
                                              results[2],
                                              epsilon,
                                              savedMean,
                                              savedInvVariance);
    for(i = 0; i < 3 && status == miopenStatusSuccess; ++i)
    {
        if(kept[i > 0] != 0.0f)
            status = portadnn_add(handle, scales[i > 0], descs[i], results[i], kept[i > 0], given[i]);
        else if(scales[i > 0] != 1.0f)
            status = miopenScaleTensor(handle, descs[i], given[i], &scales[i > 0]);
    }
    return status;
}

/* Pooling and LRN: y tells a forward pass from others --------------------------------------------------------------- */

static inline miopenStatus_t portadnn_pooling_forward(miopenHandle_t handle,
                                                      miopenPoolingDescriptor_t poolDesc,
                                                      const void *alpha,
                                                      miopenTensorDescriptor_t xDesc,
                                                      const void *x,
                                                      const void *beta,
                                                      miopenTensorDescriptor_t yDesc,
                                                      void *y)
{
    size_t size     = 0;
    void *workSpace = NULL;
    miopenStatus_t status;
#if MIOPEN_VERSION_MAJOR >= 3
    /* 8 bits, which are the default, do not tell the places in windows of more than 16 x 16. */
    if((status = miopenSetPoolingIndexType(poolDesc, miopenIndexUint32)) != miopenStatusSuccess ||
       (status = miopenPoolingGetWorkSpaceSizeV2(poolDesc, yDesc, &size)) != miopenStatusSuccess ||
#else
    if((status = miopenPoolingGetWorkSpaceSize(yDesc, &size)) != miopenStatusSuccess ||
#endif
       (status = portadnn_take(y, PORTADNN_LAYER, size, &workSpace)) != miopenStatusSuccess)
        return status;
    return miopenPoolingForward(handle, poolDesc, alpha, xDesc, x, beta, yDesc, y, true, workSpace, size);
}

static inline miopenStatus_t portadnn_pooling_backward(miopenHandle_t handle,
                                                       miopenPoolingDescriptor_t poolDesc,
                                                       const void *alpha,
                                                       miopenTensorDescriptor_t yDesc,
                                                       const void *y,
                                                       miopenTensorDescriptor_t dyDesc,
                                                       const void *dy,
                                                       miopenTensorDescriptor_t xDesc,
                                                       const void *x,
                                                       const void *beta,
                                                       miopenTensorDescriptor_t dxDesc,
                                                       void *dx)
{
    void *workSpace       = NULL;
    miopenStatus_t status = portadnn_take(y, PORTADNN_LAYER, 0, &workSpace);
    if(status != miopenStatusSuccess)
        return status;
    return miopenPoolingBackward(
        handle, poolDesc, alpha, yDesc, y, dyDesc, dy, xDesc, x, beta, dxDesc, dx, workSpace);
}

static inline miopenStatus_t portadnn_lrn_forward(miopenHandle_t handle,
                                                  miopenLRNDescriptor_t lrnDesc,
                                                  const void *alpha,
                                                  miopenTensorDescriptor_t xDesc,
                                                  const void *x,
                                                  const void *beta,
                                                  miopenTensorDescriptor_t yDesc,
                                                  void *y)
{
    size_t size     = 0;
    void *workSpace = NULL;
    miopenStatus_t status;
    if((status = miopenLRNGetWorkSpaceSize(yDesc, &size)) != miopenStatusSuccess ||
       (status = portadnn_take(y, PORTADNN_LAYER, size, &workSpace)) != miopenStatusSuccess)
        return status;
    return miopenLRNForward(handle, lrnDesc, alpha, xDesc, x, beta, yDesc, y, true, workSpace);
}

static inline miopenStatus_t portadnn_lrn_backward(miopenHandle_t handle,
                                                   miopenLRNDescriptor_t lrnDesc,
                                                   const void *alpha,
                                                   miopenTensorDescriptor_t yDesc,
                                                   const void *y,
                                                   miopenTensorDescriptor_t dyDesc,
                                                   const void *dy,
                                                   miopenTensorDescriptor_t xDesc,
                                                   const void *x,
                                                   const void *beta,
                                                   miopenTensorDescriptor_t dxDesc,
                                                   void *dx)
{
    void *workSpace       = NULL;
    miopenStatus_t status = portadnn_take(y, PORTADNN_LAYER, 0, &workSpace);
    if(status != miopenStatusSuccess)
        return status;
    return miopenLRNBackward(
        handle, lrnDesc, alpha, yDesc, y, dyDesc, dy, xDesc, x, beta, dxDesc, dx, workSpace);
}

#endif /* PORTADNN_MIOPEN_H */
