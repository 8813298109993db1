// The operations of reduce_tensor; include after common/types.h.
//
//   OP              which one: a name of JOIN_* below. Extremes called *_NAN are NaN as soon as one number is; others pass NaN over,
//                   which wins only when all are
//   COUNT           numbers behind each result, of AVG
//   SKIP_NAN        ADD and MUL leave NaN out
//
//   START            what a reduction begins with              take(v), vtake(v)      what a number counts for
//   join(a, b), vjoin(a, b)   two parts made one               OUTCOME(v)             the result, from the whole part
//
// and for extremes with INDICES
//
//   FOLLOW(best, where, v, here)   best, where = the better of (best, where) and (v, here); the first of equals stays
//   precedes(v, place, best, best_place)  whether a part comes before another, by value and then by place

#define LOWER(a, b) ((a) < (b))
#define HIGHER(a, b) ((a) > (b))
#define WINNER(a, b, WINS) PICK(WINS(b, a), b, PICK((a) == (a), a, b))
#define WINNER_NAN(a, b, WINS) PICK(WINS(b, a), b, PICK((b) == (b), a, b))

#define START PD_CAT(START_, OP)
#define JOIN(a, b) PD_CAT(JOIN_, OP)(a, b)
#define START_ADD ((real)0)
#define JOIN_ADD(a, b) ((a) + (b))
#define START_AVG ((real)0)
#define JOIN_AVG(a, b) ((a) + (b))
#define START_NORM1 ((real)0)
#define JOIN_NORM1(a, b) ((a) + (b))
#define START_NORM2 ((real)0)
#define JOIN_NORM2(a, b) ((a) + (b))
#define START_MUL ((real)1)
#define JOIN_MUL(a, b) ((a) * (b))
#define START_MUL_NO_ZEROS ((real)1)
#define JOIN_MUL_NO_ZEROS(a, b) ((a) * (b))
#define START_MIN NAN_OF(real)
#define JOIN_MIN(a, b) WINNER(a, b, LOWER)
#define START_MAX NAN_OF(real)
#define JOIN_MAX(a, b) WINNER(a, b, HIGHER)
#define START_AMAX NAN_OF(real)
#define JOIN_AMAX(a, b) WINNER(a, b, HIGHER)
#define START_MIN_NAN INFINITY_OF(real)
#define JOIN_MIN_NAN(a, b) WINNER_NAN(a, b, LOWER)
#define START_MAX_NAN (-INFINITY_OF(real))
#define JOIN_MAX_NAN(a, b) WINNER_NAN(a, b, HIGHER)
#define START_AMAX_NAN (-INFINITY_OF(real))
#define JOIN_AMAX_NAN(a, b) WINNER_NAN(a, b, HIGHER)

#ifdef SKIP_NAN
#define SKIPPED(v, neutral) PICK((v) == (v), v, neutral)
#else
#define SKIPPED(v, neutral) (v)
#endif
#define TAKE(v, SPLAT) PD_CAT(TAKE_, OP)(v, SPLAT)
#define TAKE_ADD(v, SPLAT) SKIPPED(v, SPLAT(0))
#define TAKE_AVG(v, SPLAT) (v)
#define TAKE_NORM1(v, SPLAT) fabs(v)
#define TAKE_NORM2(v, SPLAT) ((v) * (v))
#define TAKE_MUL(v, SPLAT) SKIPPED(v, SPLAT(1))
#define TAKE_MUL_NO_ZEROS(v, SPLAT) PICK((v) == (real)0, SPLAT(1), v)
#define TAKE_MIN(v, SPLAT) (v)
#define TAKE_MAX(v, SPLAT) (v)
#define TAKE_AMAX(v, SPLAT) fabs(v)
#define TAKE_MIN_NAN(v, SPLAT) (v)
#define TAKE_MAX_NAN(v, SPLAT) (v)
#define TAKE_AMAX_NAN(v, SPLAT) fabs(v)

#define OUTCOME(v) PD_CAT(OUTCOME_, OP)(v)
#define OUTCOME_ADD(v) (v)
#define OUTCOME_AVG(v) ((v) / (real)COUNT)
#define OUTCOME_NORM1(v) (v)
#define OUTCOME_NORM2(v) sqrt(v)
#define OUTCOME_MUL(v) (v)
#define OUTCOME_MUL_NO_ZEROS(v) (v)
#define OUTCOME_MIN(v) (v)
#define OUTCOME_MAX(v) (v)
#define OUTCOME_AMAX(v) (v)
#define OUTCOME_MIN_NAN(v) (v)
#define OUTCOME_MAX_NAN(v) (v)
#define OUTCOME_AMAX_NAN(v) (v)

#ifdef INDICES  // of extremes
// NAN_WINS: 1 in those called *_NAN
#define WINS(a, b) PD_CAT(WINS_, OP)(a, b)
#define WINS_MIN(a, b) LOWER(a, b)
#define WINS_MAX(a, b) HIGHER(a, b)
#define WINS_AMAX(a, b) HIGHER(a, b)
#define WINS_MIN_NAN(a, b) LOWER(a, b)
#define WINS_MAX_NAN(a, b) HIGHER(a, b)
#define WINS_AMAX_NAN(a, b) HIGHER(a, b)
// whether v comes before best because of what is NaN, which may be after all others, or before them
#define BY_NAN(v, best) (NAN_WINS ? v != v && best == best : v == v && best != best)
#define FOLLOW(best, where, v, here)                                                                       \
    {                                                                                                      \
        where = NAN_WINS                                                                                   \
                    ? PICK(WINS(v, best), here, PICK((v) == (v), where, PICK((best) == (best), here, where)))  \
                    : PICK(WINS(v, best), here, PICK((best) == (best), where, PICK((v) == (v), here, where))); \
        best = JOIN(best, v);                                                                              \
    }
DEVICE bool precedes(real v, u32 place, real best, u32 best_place) {
    const bool better = WINS(v, best) || BY_NAN(v, best), worse = WINS(best, v) || BY_NAN(best, v);
    return better || (!worse && place < best_place);
}
#endif

#define ONE_NUMBER(s) ((real)(s))
DEVICE real take(real v) { return TAKE(v, ONE_NUMBER); }
DEVICE real join(real a, real b) { return JOIN(a, b); }
DEVICE vreal vtake(vreal v) { return TAKE(v, VSPLAT); }
DEVICE vreal vjoin(vreal a, vreal b) { return JOIN(a, b); }
