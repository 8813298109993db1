// What attention leaves of each row beside its output, as far as the host defines STATS_T, MAX_T and SUM_T: the logarithm of
// the sum of exponentials, the largest score, and the sum of exp(score - largest).
//
// With S_T (FP8) exp(score - largest) is rounded before it meets the values, for which the row's largest score has to be known:
// tops and sums come from a first pass over the keys (PASSES). MOST_ARGUMENTS are the largest of the probabilities, as they are
// before, and of the output, by tiles.
//
// ROW_OUTPUTS are the kernels' parameters, PUT_ROW(i, top, sum) stores them of row i of head (b, h).

#ifdef STATS_T
#define PD_STATS , PLACED(ELEMENT(STATS_T), stats)
#define PD_BIND_STATS BIND(ELEMENT(STATS_T), stats);
#define PD_PUT_STATS(i, v) \
    if (HAS_ROW(stats, b, i)) PUT(STATS_T, OF(stats, b, h), (i) * stats_s, v);
#else
#define PD_STATS
#define PD_BIND_STATS
#define PD_PUT_STATS(i, v)
#endif
#ifdef MAX_T
#define PD_MAX , PLACED(ELEMENT(MAX_T), tops)
#define PD_BIND_MAX BIND(ELEMENT(MAX_T), tops);
#define PD_PUT_MAX(i, v) \
    if (HAS_ROW(tops, b, i)) PUT(MAX_T, OF(tops, b, h), (i) * tops_s, v);
#else
#define PD_MAX
#define PD_BIND_MAX
#define PD_PUT_MAX(i, v)
#endif
#ifdef SUM_T
#define PD_SUM , PLACED(ELEMENT(SUM_T), sums)
#define PD_BIND_SUM BIND(ELEMENT(SUM_T), sums);
#define PD_PUT_SUM(i, v) \
    if (HAS_ROW(sums, b, i)) PUT(SUM_T, OF(sums, b, h), (i) * sums_s, v);
#else
#define PD_SUM
#define PD_BIND_SUM
#define PD_PUT_SUM(i, v)
#endif

#define ROW_OUTPUTS PD_STATS PD_MAX PD_SUM
#define BIND_ROW_OUTPUTS PD_BIND_STATS PD_BIND_MAX PD_BIND_SUM
#ifdef STATS_LOG2  // the logarithm to the base of 2
#define LOGARITHM(top, sum) (((top) + log(sum)) * (real)1.4426950408889634074)
#else
#define LOGARITHM(top, sum) ((top) + log(sum))
#endif
#define PUT_ROW(i, top, sum) PD_PUT_STATS(i, LOGARITHM(top, sum)) PD_PUT_MAX(i, top) PD_PUT_SUM(i, sum)

#ifdef S_T
#define MOST_ARGUMENTS , TENSOR(real, most_s), TENSOR(real, most_o)
#define BIND_MOST       \
    BIND(real, most_s); \
    BIND(real, most_o);
#define PASSES 2
#else
#define MOST_ARGUMENTS
#define BIND_MOST
#define PASSES 1
#endif
