// The inner loops of softmax/ctc_loss.cl in vectors of VW floats, for CPUs: classes lie side by side, a group is a work-item.


typedef vreal ctc_vector __attribute__((aligned(4)));
typedef PD_CAT(int, VW) ctc_ints;
typedef ctc_ints ctc_some_ints __attribute__((aligned(4)));
#define VECTOR_AT(p) (*(const ctc_vector *)(p))
#define PUT_VECTOR(v, p) (*(ctc_vector *)(p) = (v))
#define FAR_VECTOR(p) (*(const GLOBAL ctc_vector *)(p))
#define PUT_FAR(v, p) (*(GLOBAL ctc_vector *)(p) = (v))

// log(x) of 1 <= x <= 3, a NaN stays one: x = 2^n * m, m near 1, and the polynomial of logf in S. L. Moshier's Cephes library
DEVICE vreal log_of_few(const vreal x) {
    const ctc_ints n = (PD_CAT(as_int, VW)(x) - 0x3f3504f3) >> 23;
    const vreal m = PD_CAT(as_float, VW)(PD_CAT(as_int, VW)(x) - (n << 23)) - 1.0f, e = __builtin_convertvector(n, vreal), z = m * m;
    vreal p = m * 7.0376836292e-2f - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * z + e * -2.12194440e-4f - 0.5f * z;
    return x == x ? m + p + e * 0.693359375f : x;
}

DEVICE real sum_of(const vreal v) {
    real sum = 0;
    UNROLL for (int i = 0; i < VW; ++i) sum += LANE(v, i);
    return sum;
}
DEVICE real most_of(const vreal v) {
    real most = LANE(v, 0);
    UNROLL for (int i = 1; i < VW; ++i) most = LANE(v, i) > most ? LANE(v, i) : most;
    return most;
}
DEVICE vreal first_few(const GLOBAL real *p, const int count, const real rest) {
    vreal v = VSPLAT(rest);
    for (int i = 0; i < count; ++i) LANE(v, i) = p[i];
    return v;
}

// log of the sum of a row's exponentials
DEVICE real log_of_row(const GLOBAL real *row, const int classes) {
    const int whole = classes / VW * VW;
    vreal top = VSPLAT(NOTHING), sum = VSPLAT(0);
    const vreal last = first_few(row + whole, classes - whole, NOTHING);
    for (int c = 0; c < whole; c += VW) {
        const vreal v = FAR_VECTOR(row + c);
        top = v > top ? v : top;
    }
    const real most = most_of(last > top ? last : top);
    for (int c = 0; c < whole; c += VW) sum += VEXP(FAR_VECTOR(row + c) - most);
    return most + log(sum_of(sum + (classes > whole ? VEXP(last - most) : VSPLAT(0))));
}

// exp(v - log) of a row
DEVICE void put_values(GLOBAL real *to, const GLOBAL real *row, const int classes, const real log) {
    const int whole = classes / VW * VW;
    for (int c = 0; c < whole; c += VW) PUT_FAR(VEXP(FAR_VECTOR(row + c) - log), to + c);
    const vreal last = VEXP(first_few(row + whole, classes - whole, 0) - log);
    for (int c = whole; c < classes; ++c) to[c] = LANE(last, c - whole);
}

// exp(v - top) in place, and their sum
DEVICE real exponentials(GLOBAL real *shares, const int count, const real top) {
    const int whole = count / VW * VW;
    vreal sum = VSPLAT(0);
    for (int s = 0; s < whole; s += VW) {
        const vreal v = VEXP(FAR_VECTOR(shares + s) - top);
        PUT_FAR(v, shares + s);
        sum += v;
    }
    if (whole < count) {
        const vreal v = VEXP(first_few(shares + whole, count - whole, NOTHING) - top);
        for (int s = whole; s < count; ++s) shares[s] = LANE(v, s - whole);
        sum += v;
    }
    return sum_of(sum);
}

// The states of a step from those of the one before, of which two more lie in front: log(exp + exp + exp) + emitted. `may_skip` is
// -1 where the second one in front counts. Behind `count` nothing is emitted. Returns the largest.
DEVICE real next_states(real *now, const real *before, const real *emitted, const int *may_skip, const int count) {
    vreal most = VSPLAT(NOTHING);
    for (int s = 0; s < count; s += VW) {
        const vreal a = VECTOR_AT(before + s), b = VECTOR_AT(before + s - 1), far = VECTOR_AT(before + s - 2);
        const ctc_ints skips = *(const ctc_some_ints *)(may_skip + s);
        const vreal c = skips ? far : VSPLAT(NOTHING);
        vreal top = b > a ? b : a;
        top = c > top ? c : top;
        const vreal base = top == NOTHING ? VSPLAT(0) : top;
        const vreal sum = VEXP(a - base) + VEXP(b - base) + VEXP(c - base);
        const vreal value = (top == NOTHING ? top : top + log_of_few(sum)) + VECTOR_AT(emitted + s);
        PUT_VECTOR(value, now + s);
        most = value > most ? value : most;
    }
    return most_of(most);
}
