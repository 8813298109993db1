// tanh of floats: x + x^3 P(x^2), and 1 - 2 / (exp(2x) + 1) beyond. The polynomial was fitted for the least largest error
// relative to the function (below 2e-7). R is a number or a vector, with a function for each of the other names.
#define TANH(name, R, fabs, exp, reciprocal, select)                                                       \
    DEVICE R name(R x) {                                                                                   \
        const R a = fabs(x), z = x * x;                                                                    \
        R p = z * -0.0061131804f + 0.021010073f;                                                           \
        p = p * z - 0.053854067f;                                                                          \
        p = p * z + 0.13332795f;                                                                           \
        p = p * z - 0.33333328f;                                                                           \
        const R far = 1.0f - 2.0f * reciprocal(exp(a * 2.0f) + 1.0f);                                      \
        return select(a < 0.625f, x + x * z * p, select(x < 0.0f, -far, far));                             \
    }
