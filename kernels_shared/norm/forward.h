// Parameters of the forward kernels of normalisation, as far as there are any, and what they do to a centred number; after norm/norm.h.

#ifdef HAS_SCALE
#define SCALE_ARG TENSOR(real, scale),
#define BIND_SCALE BIND(real, scale)
#else
#define SCALE_ARG
#define BIND_SCALE
#endif
#ifdef HAS_BIAS
#define BIAS_ARG TENSOR(real, bias),
#define BIND_BIAS BIND(real, bias)
#else
#define BIAS_ARG
#define BIND_BIAS
#endif
#ifdef HAS_RUNNING
#define RUNNING_ARGS TENSOR(real, running_mean), TENSOR(real, running_variance),
#define BIND_RUNNING BIND(real, running_mean); BIND(real, running_variance)
#define STORE_RUNNING(mean, squares)                                                                       \
    {                                                                                                      \
        const real remains = (real)1 - factor;                                                                \
        part_blend(running_mean, RUNNING_MEAN_OUTER(o), RUNNING_MEAN_STEP, factor, mean, remains);         \
        part_blend(running_variance, RUNNING_VARIANCE_OUTER(o), RUNNING_VARIANCE_STEP, factor,             \
                   (squares) / (real)(COUNT ? COUNT - 1 : 0), remains);                                           \
    }
#define FACTOR_ARG , const real factor
#else
#define RUNNING_ARGS
#define BIND_RUNNING
#define STORE_RUNNING(mean, squares)
#define FACTOR_ARG
#endif
#if defined(HAS_SAVED) && !defined(RMS)
#define SAVED_ARGS TENSOR(real, saved_mean), TENSOR(real, saved_inv_variance),
#define BIND_SAVED BIND(real, saved_mean); BIND(real, saved_inv_variance)
#define STORE_SAVED(mean, inverse)                                                                         \
    WRITE(saved_mean, SAVED_MEAN, o, mean);                                                                \
    WRITE(saved_inv_variance, SAVED_INV_VARIANCE, o, inverse);
#elif defined(HAS_SAVED)
#define SAVED_ARGS TENSOR(real, saved_inv_variance),
#define BIND_SAVED BIND(real, saved_inv_variance)
#define STORE_SAVED(mean, inverse) WRITE(saved_inv_variance, SAVED_INV_VARIANCE, o, inverse);
#else
#define SAVED_ARGS
#define BIND_SAVED
#define STORE_SAVED(mean, inverse)
#endif

// what becomes of a centred vector: GAIN_AND_SHIFT once per row where the parameters allow it
#ifdef PER_REDUCE
#define GAIN_AND_SHIFT(inverse) const part gain = inverse;
#ifdef HAS_BIAS
#define AFFINE(v, r) ((v) * gain * PARAMETERS(scale, SCALE, o, r) + PARAMETERS(bias, BIAS, o, r))
#else
#define AFFINE(v, r) ((v) * gain * PARAMETERS(scale, SCALE, o, r))
#endif
#else
#ifdef HAS_SCALE
#define GAIN(inverse) const part gain = inside ? (inverse) * READ(scale, SCALE, o) : PART_SPLAT(0);
#else
#define GAIN(inverse) const part gain = inverse;
#endif
#ifdef HAS_BIAS
#define GAIN_AND_SHIFT(inverse)                                                                            \
    GAIN(inverse)                                                                                          \
    const part shift = inside ? READ(bias, BIAS, o) : PART_SPLAT(0);
#define AFFINE(v, r) ((v) * gain + shift)
#else
#define GAIN_AND_SHIFT(inverse) GAIN(inverse)
#define AFFINE(v, r) ((v) * gain)
#endif
#endif

// parameters and statistics of inference, which are all there
#define GIVEN_ARGS                                                                                         \
    TENSOR(real, scale), TENSOR(real, bias), TENSOR(real, estimated_mean), TENSOR(real, estimated_variance),
#define BIND_GIVEN                                                                                         \
    BIND(real, scale);                                                                                     \
    BIND(real, bias);                                                                                      \
    BIND(real, estimated_mean);                                                                            \
    BIND(real, estimated_variance)
