// Parameters of the backward kernels of normalisation, as far as there are any, and where statistics come from; after norm/norm.h.

#ifdef HAS_SCALE
#define SCALE_ARG TENSOR(real, scale),
#define BIND_SCALE BIND(real, scale);
#else
#define SCALE_ARG
#define BIND_SCALE
#endif
#if defined(HAS_SAVED) && defined(RMS)
#define STATS_ARGS TENSOR(real, saved_inv_variance),
#define BIND_STATS BIND(real, saved_inv_variance);
#define LOAD_STATS inverse = READ(saved_inv_variance, SAVED_INV_VARIANCE, o);
#elif defined(HAS_SAVED)
#define STATS_ARGS TENSOR(real, saved_mean), TENSOR(real, saved_inv_variance),
#define BIND_STATS                                                                                         \
    BIND(real, saved_mean);                                                                                \
    BIND(real, saved_inv_variance);
#define LOAD_STATS                                                                                         \
    pivot = READ(saved_mean, SAVED_MEAN, o);                                                               \
    inverse = READ(saved_inv_variance, SAVED_INV_VARIANCE, o);
#elif defined(HAS_STATS)
#define STATS_ARGS TENSOR(real, stat_pivots), TENSOR(real, stat_rests), TENSOR(real, stat_inverses),
#define BIND_STATS                                                                                         \
    BIND(real, stat_pivots);                                                                               \
    BIND(real, stat_rests);                                                                                \
    BIND(real, stat_inverses);
#define LOAD_STATS                                                                                         \
    pivot = READ(stat_pivots, STAT, o);                                                                    \
    rest = READ(stat_rests, STAT, o);                                                                      \
    inverse = READ(stat_inverses, STAT, o);
#else
#define STATS_ARGS
#define BIND_STATS
#endif
#ifdef PARAMETER_GRADIENTS
#define GRADIENT_ARGS TENSOR(real, dscale), TENSOR(real, dbias),
#define BIND_GRADIENTS                                                                                     \
    BIND(real, dscale);                                                                                    \
    BIND(real, dbias);
#define GRADIENT_NUMBERS , const real alpha_param, const real beta_param
#define STORE_GRADIENTS(by_scale, by_bias)                                                                 \
    {                                                                                                      \
        part_blend(dscale, DSCALE_OUTER(o), DSCALE_STEP, alpha_param, by_scale, beta_param);               \
        part_blend(dbias, DBIAS_OUTER(o), DBIAS_STEP, alpha_param, by_bias, beta_param);                   \
    }
#elif defined(PARAMETER_PARTS)  // of each image, for norm_finish
#define GRADIENT_ARGS TENSOR(real, part_dscale), TENSOR(real, part_dbias),
#define BIND_GRADIENTS                                                                                     \
    BIND(real, part_dscale);                                                                               \
    BIND(real, part_dbias);
#define GRADIENT_NUMBERS
#define STORE_GRADIENTS(by_scale, by_bias)                                                                 \
    {                                                                                                      \
        WRITE(part_dscale, SLOT, o, by_scale);                                                             \
        WRITE(part_dbias, SLOT, o, by_bias);                                                               \
    }
#else
#define GRADIENT_ARGS
#define BIND_GRADIENTS
#define GRADIENT_NUMBERS
#define STORE_GRADIENTS(by_scale, by_bias) {}
#endif

#ifdef RMS
#define CENTRED(v) (v)
#define WITHOUT_MEAN(v, shift) (v)
#elif defined(HAS_SAVED)
#define CENTRED(v) ((v) - pivot)
#define WITHOUT_MEAN(v, shift) ((v) - (shift))
#else
#define CENTRED(v) ((v) - pivot - rest)
#define WITHOUT_MEAN(v, shift) ((v) - (shift))
#endif
#ifdef PER_REDUCE
#define WEIGHTED(v, r) ((v) * PARAMETERS(scale, SCALE, o, r))
#define GAIN(inverse) (inverse)
#else
#define WEIGHTED(v, r) (v)
#ifdef HAS_SCALE
#define GAIN(inverse) (inside ? (inverse) * READ(scale, SCALE, o) : PART_SPLAT(0))
#else
#define GAIN(inverse) (inverse)
#endif
#endif
