// The operations of reduce_tensor; include after common/types.h.
//
//   OP_ADD, OP_AVG, OP_NORM1, OP_NORM2, OP_MUL, OP_MUL_NO_ZEROS, OP_MIN, OP_MAX, OP_AMAX   which one
//   PROPAGATE_NAN   extremes are NaN as soon as one number is; else NaN is passed over, and wins only when all are
//   COUNT           numbers behind each result, of OP_AVG
//
//   START            what a reduction begins with              take(v), vtake(v)      what a number counts for
//   join(a, b), vjoin(a, b)   two parts made one               OUTCOME(v)             the result, from the whole part
//
// and for extremes with indices
//
//   FOLLOW(best, where, v, here)   best, where = the better of (best, where) and (v, here); the first of equals stays
//   precedes(v, place, best, best_place)  whether a part comes before another, by value and then by place

#if defined(OP_MIN) || defined(OP_MAX) || defined(OP_AMAX)
#ifdef OP_MIN
#define WINS(a, b) ((a) < (b))
#else
#define WINS(a, b) ((a) > (b))
#endif
#ifdef PROPAGATE_NAN
#ifdef OP_MIN
#define START INFINITY_OF(real)
#else
#define START (-INFINITY_OF(real))
#endif
#define EXTREME(a, b) PICK(WINS(b, a), b, PICK((b) == (b), a, b))
#define EXTREME_PLACE(best, where, v, here) PICK(WINS(v, best), here, PICK((v) == (v), where, PICK((best) == (best), here, where)))
#else
#define START NAN_OF(real)
#define EXTREME(a, b) PICK(WINS(b, a), b, PICK((a) == (a), a, b))
#define EXTREME_PLACE(best, where, v, here) PICK(WINS(v, best), here, PICK((best) == (best), where, PICK((v) == (v), here, where)))
#endif
#define FOLLOW(best, where, v, here)                                                                       \
    {                                                                                                      \
        where = EXTREME_PLACE(best, where, v, here);                                                       \
        best = EXTREME(best, v);                                                                           \
    }
DEVICE bool precedes(real v, u32 place, real best, u32 best_place) {
#ifdef PROPAGATE_NAN
    const bool better = WINS(v, best) || (v != v && best == best), worse = WINS(best, v) || (best != best && v == v);
#else
    const bool better = WINS(v, best) || (v == v && best != best), worse = WINS(best, v) || (best == best && v != v);
#endif
    return better || (!worse && place < best_place);
}
#define JOIN(a, b) EXTREME(a, b)
#elif defined(OP_MUL) || defined(OP_MUL_NO_ZEROS)
#define START ((real)1)
#define JOIN(a, b) ((a) * (b))
#else
#define START ((real)0)
#define JOIN(a, b) ((a) + (b))
#endif

#if defined(OP_NORM1) || defined(OP_AMAX)
#define TAKE(v, SPLAT) fabs(v)
#elif defined(OP_NORM2)
#define TAKE(v, SPLAT) ((v) * (v))
#elif defined(OP_MUL_NO_ZEROS)
#define TAKE(v, SPLAT) PICK((v) == (real)0, SPLAT(1), v)
#else
#define TAKE(v, SPLAT) (v)
#endif

#if defined(OP_AVG)
#define OUTCOME(v) ((v) / (real)COUNT)
#elif defined(OP_NORM2)
#define OUTCOME(v) sqrt(v)
#else
#define OUTCOME(v) (v)
#endif

#define ONE_NUMBER(s) ((real)(s))
DEVICE real take(real v) { return TAKE(v, ONE_NUMBER); }
DEVICE real join(real a, real b) { return JOIN(a, b); }
DEVICE vreal vtake(vreal v) { return TAKE(v, VSPLAT); }
DEVICE vreal vjoin(vreal a, vreal b) { return JOIN(a, b); }
