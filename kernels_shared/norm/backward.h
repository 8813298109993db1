// Where the backward kernels of normalisation have statistics from, and what they do with them; after norm/norm.h.
//
//   STATS       SAVED: the call's tensors, mean and inverse deviation; SAVED_INVERSE (RMS): the latter alone; WORKSPACE: pivot, rest of
//               the mean and inverse deviation, by STAT_OUTER; OWN: the kernel makes them
//   GRADIENTS   what becomes of the sums: BLENDED into dscale and dbias (batch normalisation), PARTS of each image, for
//               norm_finish, or NONE

#define STATS_KNOWN PD_CAT(STATS_KNOWN_, STATS)
#define STATS_KNOWN_SAVED 1
#define STATS_KNOWN_SAVED_INVERSE 1
#define STATS_KNOWN_WORKSPACE 1
#define STATS_KNOWN_OWN 0
#define LOAD_STATS PD_CAT(LOAD_STATS_, STATS)
#define LOAD_STATS_SAVED_INVERSE inverse = READ(saved_inv_variance, SAVED_INV_VARIANCE, o);
#define LOAD_STATS_SAVED                                                                                   \
    pivot = READ(saved_mean, SAVED_MEAN, o);                                                               \
    LOAD_STATS_SAVED_INVERSE
#define LOAD_STATS_WORKSPACE                                                                               \
    pivot = READ(stat_pivots, STAT, o);                                                                    \
    rest = READ(stat_rests, STAT, o);                                                                      \
    inverse = READ(stat_inverses, STAT, o);
#define LOAD_STATS_OWN

#define STORE_GRADIENTS(by_scale, by_bias) PD_CAT(STORE_GRADIENTS_, GRADIENTS)(by_scale, by_bias)
#define STORE_GRADIENTS_NONE(by_scale, by_bias) {}
#define STORE_GRADIENTS_BLENDED(by_scale, by_bias)                                                         \
    {                                                                                                      \
        ADD_TO(dscale, DSCALE, o, alpha_param, by_scale, beta_param);                                      \
        ADD_TO(dbias, DBIAS, o, alpha_param, by_bias, beta_param);                                         \
    }
#define STORE_GRADIENTS_PARTS(by_scale, by_bias)                                                           \
    {                                                                                                      \
        WRITE(part_dscale, SLOT, o, by_scale);                                                             \
        WRITE(part_dbias, SLOT, o, by_bias);                                                               \
    }

#define WITHOUT_REST(v) PD_CAT(WITHOUT_REST_, STATS)(v)  // a saved mean is all in the pivot
#define WITHOUT_REST_SAVED(v) (v)
#define WITHOUT_REST_SAVED_INVERSE(v) (v)
#define WITHOUT_REST_WORKSPACE(v) ((v) - rest)
#define WITHOUT_REST_OWN(v) ((v) - rest)
#define WITHOUT_REST_PARTS(v) ((v) - rest)  // CPUs: those of slices
#define CENTRED(v) (RMS ? (v) : WITHOUT_REST((v) - pivot))
#define WITHOUT_MEAN(v, shift) (RMS ? (v) : (v) - (shift))

#define WEIGHTED(v, r) PD_CAT(WEIGHTED_, PER_REDUCE)(v, r)
#define WEIGHTED_0(v, r) (v)
#define WEIGHTED_1(v, r) ((v) * PARAMETERS(scale, SCALE, o, r))
#define GAIN(inverse) PD_CAT(GAIN_, PER_REDUCE)(inverse)
#define GAIN_0(inverse) PD_CAT(SCALED_, HAS_SCALE)(inverse)
#define GAIN_1(inverse) (inverse)
#define SCALED_0(inverse) (inverse)
#define SCALED_1(inverse) (inside ? (inverse) * READ(scale, SCALE, o) : PART_SPLAT(0))
