// vreal for CUDA: a struct of VW registers with the operators and functions that OpenCL's vectors have.
struct vreal {
    real e[VW];
};
struct vmask {
    bool e[VW];
};
#define PD_EACH for (int j = 0; j < VW; ++j)
#define LANE(v, j) ((v).e[j])

DEVICE vreal VSPLAT(real s) {
    vreal v;
    UNROLL PD_EACH v.e[j] = s;
    return v;
}
#define PD_OPERATOR(op)                                                                                    \
    DEVICE vreal operator op(vreal a, vreal b) {                                                           \
        UNROLL PD_EACH a.e[j] = a.e[j] op b.e[j];                                                          \
        return a;                                                                                          \
    }                                                                                                      \
    DEVICE vreal operator op(vreal a, real s) {                                                            \
        UNROLL PD_EACH a.e[j] = a.e[j] op s;                                                               \
        return a;                                                                                          \
    }                                                                                                      \
    DEVICE vreal operator op(real s, vreal a) {                                                            \
        UNROLL PD_EACH a.e[j] = s op a.e[j];                                                               \
        return a;                                                                                          \
    }
PD_OPERATOR(+)
PD_OPERATOR(-)
PD_OPERATOR(*)
PD_OPERATOR(/)
DEVICE vreal operator-(vreal a) {
    UNROLL PD_EACH a.e[j] = -a.e[j];
    return a;
}
#define PD_COMPARE(op)                                                                                     \
    DEVICE vmask operator op(vreal a, vreal b) {                                                           \
        vmask m;                                                                                           \
        UNROLL PD_EACH m.e[j] = a.e[j] op b.e[j];                                                          \
        return m;                                                                                          \
    }                                                                                                      \
    DEVICE vmask operator op(vreal a, real s) {                                                            \
        vmask m;                                                                                           \
        UNROLL PD_EACH m.e[j] = a.e[j] op s;                                                               \
        return m;                                                                                          \
    }
PD_COMPARE(<)
PD_COMPARE(<=)
PD_COMPARE(>)
PD_COMPARE(>=)
PD_COMPARE(==)
PD_COMPARE(!=)
DEVICE vreal PICK(vmask m, vreal yes, vreal no) {
    UNROLL PD_EACH no.e[j] = m.e[j] ? yes.e[j] : no.e[j];
    return no;
}
#define PD_UNARY(f)                                                                                        \
    DEVICE vreal f(vreal a) {                                                                              \
        UNROLL PD_EACH a.e[j] = f(a.e[j]);                                                                 \
        return a;                                                                                          \
    }
PD_UNARY(exp)
#define VEXP(v) exp(v)
PD_UNARY(expm1)
PD_UNARY(log)
PD_UNARY(tanh)
PD_UNARY(fabs)
PD_UNARY(sqrt)
PD_UNARY(rsqrt)
DEVICE vreal fmax(vreal a, vreal b) {
    UNROLL PD_EACH a.e[j] = fmax(a.e[j], b.e[j]);
    return a;
}
DEVICE vreal fmin(vreal a, vreal b) {
    UNROLL PD_EACH a.e[j] = fmin(a.e[j], b.e[j]);
    return a;
}
DEVICE vreal fma(vreal a, vreal b, vreal c) {
    UNROLL PD_EACH a.e[j] = fma(a.e[j], b.e[j], c.e[j]);
    return a;
}

// Memory: whole 16-byte (or 8, 4, 2-byte) words where VECTOR_ALIGNED, element by element otherwise.
#ifdef VECTOR_ALIGNED
struct alignas(VW * sizeof(T) < 16 ? VW * sizeof(T) : 16) pd_words {
    T e[VW];
};
DEVICE vreal VLOAD(const T *p, i64 i) {
    const pd_words w = *(const pd_words *)(p + i);
    vreal v;
    UNROLL PD_EACH v.e[j] = LOAD(w.e, j);
    return v;
}
DEVICE void VSTORE(T *p, i64 i, vreal v) {
    pd_words w;
    UNROLL PD_EACH STORE(w.e, j, v.e[j]);
    *(pd_words *)(p + i) = w;
}
#else
DEVICE vreal VLOAD(const T *p, i64 i) {
    vreal v;
    UNROLL PD_EACH v.e[j] = LOAD(p, i + j);
    return v;
}
DEVICE void VSTORE(T *p, i64 i, vreal v) {
    UNROLL PD_EACH STORE(p, i + j, v.e[j]);
}
#endif
// a GPU overwrites whole lines without reading them first
#define VSTREAM_TAKES(p) 0
#define VSTREAM(p, i, v) VSTORE(p, i, v)
