// What the forward kernels of normalisation do to a centred number, and with statistics; after norm/norm.h.
//
//   RUNNING   UPDATED where there are running statistics, else NONE
//   SAVED     what is saved of a row's statistics: BOTH, INVERSE or NONE

#define STORE_RUNNING(mean, squares) PD_CAT(STORE_RUNNING_, RUNNING)(mean, squares)
#define STORE_RUNNING_NONE(mean, squares)
#define STORE_RUNNING_UPDATED(mean, squares)                                                               \
    {                                                                                                      \
        const real remains = (real)1 - factor;                                                             \
        ADD_TO(running_mean, RUNNING_MEAN, o, factor, mean, remains);                                      \
        ADD_TO(running_variance, RUNNING_VARIANCE, o, factor,                                              \
               (squares) / (real)(COUNT ? COUNT - 1 : 0), remains);                                        \
    }
#define STORE_SAVED(mean, inverse) PD_CAT(STORE_SAVED_, SAVED)(mean, inverse)
#define STORE_SAVED_NONE(mean, inverse)
#define STORE_SAVED_INVERSE(mean, inverse) WRITE(saved_inv_variance, SAVED_INV_VARIANCE, o, inverse);
#define STORE_SAVED_BOTH(mean, inverse)                                                                    \
    WRITE(saved_mean, SAVED_MEAN, o, mean);                                                                \
    STORE_SAVED_INVERSE(mean, inverse)

#define PLUS_BIAS(v, bias) PD_CAT(PLUS_BIAS_, HAS_BIAS)(v, bias)
#define PLUS_BIAS_0(v, bias) (v)
#define PLUS_BIAS_1(v, bias) ((v) + bias)
#define SHIFT_OF(o) PD_CAT(SHIFT_OF_, HAS_BIAS)(o)
#define SHIFT_OF_0(o) PART_SPLAT(0)
#define SHIFT_OF_1(o) inside ? READ(bias, BIAS, o) : PART_SPLAT(0)
#define GAIN_OF(inverse, o) PD_CAT(GAIN_OF_, HAS_SCALE)(inverse, o)
#define GAIN_OF_0(inverse, o) inverse
#define GAIN_OF_1(inverse, o) inside ? (inverse) * READ(scale, SCALE, o) : PART_SPLAT(0)

// what becomes of a centred vector: GAIN_AND_SHIFT once per row where the parameters allow it
#define GAIN_AND_SHIFT(inverse) PD_CAT(GAIN_AND_SHIFT_, PER_REDUCE)(inverse)
#define GAIN_AND_SHIFT_0(inverse) const part gain = GAIN_OF(inverse, o), shift = SHIFT_OF(o);
#define GAIN_AND_SHIFT_1(inverse) const part gain = inverse;
#define AFFINE(v, r) PD_CAT(AFFINE_, PER_REDUCE)(v, r)
#define AFFINE_0(v, r) PLUS_BIAS((v) * gain, shift)
#define AFFINE_1(v, r) PLUS_BIAS((v) * gain * PARAMETERS(scale, SCALE, o, r), PARAMETERS(bias, BIAS, o, r))
