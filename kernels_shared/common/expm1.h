// exp(x) - 1 of floats: x + x^2 P(x) near zero, by what it says beyond. The polynomial was fitted for the least largest error
// relative to the function (below 2e-7). R is a number or a vector, with a function for each of the other names.
#define EXPM1(name, R, fabs, exp, select)                                                                  \
    DEVICE R name(R x) {                                                                                   \
        R p = x * 0.00019979481f + 0.0013982196f;                                                          \
        p = p * x + 0.008333128f;                                                                          \
        p = p * x + 0.041665792f;                                                                          \
        p = p * x + 0.16666667f;                                                                           \
        p = p * x + 0.5f;                                                                                  \
        return select(fabs(x) < 0.5f, x + x * x * p, exp(x) - 1.0f);                                       \
    }
