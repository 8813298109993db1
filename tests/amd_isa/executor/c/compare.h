// Vector compares: a mask of the active lanes into operand 0, and with v_cmpx into EXEC.
static inline void compared(wave *w, const record *r, u64 mask, int exec) {
    put_mask(w, r->o[0].at, mask);
    if (exec) put_mask(w, EXEC, mask);
}
#define CMP_(name, A, B, exec, ...) OP(name) { \
    const source a_ = source_of(w, r, 1), b_ = source_of(w, r, 2); u64 mask = 0; \
    LANES { const A a = get_##A(a_, l); const B b = get_##B(b_, l); (void)a, (void)b; mask |= (u64)(__VA_ARGS__) << l; } \
    compared(w, r, mask, exec); }
#define CMP(op, A, B, t, ...) CMP_(v_cmp_##op##_##t, A, B, 0, __VA_ARGS__) CMP_(v_cmpx_##op##_##t, A, B, 1, __VA_ARGS__)
#define INTEGERS(T, k) \
    CMP(f, T, T, k, 0) CMP(lt, T, T, k, a < b) CMP(eq, T, T, k, a == b) CMP(le, T, T, k, a <= b) CMP(gt, T, T, k, a > b) \
    CMP(ne, T, T, k, a != b) CMP(ge, T, T, k, a >= b) CMP(t, T, T, k, 1)
INTEGERS(U16, u16) INTEGERS(I16, i16) INTEGERS(U32, u32) INTEGERS(I32, i32) INTEGERS(U64, u64) INTEGERS(I64, i64)
// a number's class: 1 signalling NaN, 2 quiet NaN, then -inf, -normal, -denormal, -0, 0, denormal, normal, inf
static inline u32 class_of(double x, int denormal, int quiet) {
    if (x != x) return quiet ? 2 : 1;
    const int kind = isinf(x) ? 3 : x == 0 ? 0 : denormal ? 1 : 2;
    return signbit(x) ? 1u << (5 - kind) : 1u << (6 + kind);
}
#define CLASS(T, t, bits, least, quiet) \
    static inline u32 class_##t(T x) { return class_of(x, fabs((double)x) < least, bits(x) >> quiet & 1); } \
    CMP(class, T, U32, t, (b & class_##t(a)) != 0)
#define FLOAT_COMPARES(T, k) \
    CMP(f, T, T, k, 0) CMP(lt, T, T, k, a < b) CMP(eq, T, T, k, a == b) CMP(le, T, T, k, a <= b) CMP(gt, T, T, k, a > b) \
    CMP(lg, T, T, k, a < b || a > b) CMP(ge, T, T, k, a >= b) CMP(o, T, T, k, a == a && b == b) \
    CMP(u, T, T, k, a != a || b != b) CMP(nge, T, T, k, !(a >= b)) CMP(nlg, T, T, k, !(a < b || a > b)) \
    CMP(ngt, T, T, k, !(a > b)) CMP(nle, T, T, k, !(a <= b)) CMP(neq, T, T, k, a != b) CMP(nlt, T, T, k, !(a < b)) \
    CMP(t, T, T, k, 1) CMP(tru, T, T, k, 1)
FLOAT_COMPARES(F16, f16) FLOAT_COMPARES(F32, f32) FLOAT_COMPARES(F64, f64)
CLASS(F16, f16, bits16, 0x1p-14, 9) CLASS(F32, f32, bits32, 0x1p-126, 22) CLASS(F64, f64, bits64, 0x1p-1022, 51)
