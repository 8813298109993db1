// What the kernels of local response and divisive normalisation share.
//
//   s = k + weight * sum      f = s^-power      y = x * f      d(sum of g * y)/d(sum) = -power * weight * g * x * f / s
//
// Host defines: POWER_075, POWER_05, POWER_1 (roots and divisions, correct to a few units in the last place) or none of
// them (exp and log). NORM_ARGS and NORM are the kernels' parameters besides tensors; `slope` is 2 * power * weight.

#define NORM_ARGS                                                                                          \
    const real alpha, const real beta, const real weight, const real k, const real power, const real slope

#ifndef VECTOR_POWER
#define VECTOR_POWER(s) exp(log(s) * -power)
#endif

// type f, inverse: s^-power and 1/s. A sum that overflowed gives f = inverse = 0.
#ifdef POWER_075
#define POWERS(type, s, f, inverse)                                                                        \
    const type f##_root = rsqrt(s);                                                                        \
    const type f = f##_root * sqrt(f##_root);                                                              \
    const type inverse = f##_root * f##_root
#elif defined(POWER_05)
#define POWERS(type, s, f, inverse)                                                                        \
    const type f = rsqrt(s);                                                                               \
    const type inverse = f * f
#elif defined(POWER_1)
#define POWERS(type, s, f, inverse)                                                                        \
    const type f = (real)1 / (s);                                                                          \
    const type inverse = f
#else
#define POWERS(type, s, f, inverse)                                                                        \
    const type f = VECTOR_POWER(s);                                                                        \
    const type inverse = (real)1 / (s)
#endif
