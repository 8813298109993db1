// From scores to weights on tensor cores, for the kernels of attention's forward direction: online softmax of rows whose scores,
// tops, sums and output lie in a sub-group's registers (attention/mma.h). Scores times `unit` are in units of the logarithm to
// base 2; a row's sum and output are relative to its top.

#if defined(BIAS_T) || defined(ALIBI)
DEVICE float unit_of(float scale) { return 1; }
DEVICE u32 flips_of(float scale) { return 0; }
#else
// Comparing comes before scaling, which takes a positive factor; the sign is that of the queries
DEVICE float unit_of(float scale) { return fmaxf(fabsf(scale), 1.17549435e-38f); }
DEVICE u32 flips_of(float scale) { return scale < 0 ? 0x80008000u : 0u; }
#endif

// 16 numbers of each row of queries as left operands
DEVICE void load_queries(u32 (*a)[4], u32 left, const int pitch, const u32 flips) {
    load_left(a, left, pitch);
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int i = 0; i < 4; ++i) a[m][i] ^= flips;
    }
}

// A score as it is compared: nothing where it does not count; `seen` are the columns of its row
DEVICE float counted(const attention *at, const sequence *of, interval seen, int row, int column, float score, float scale) {
    if (!counts_within(at, of, seen, row, column)) return -INFINITY_OF(float);
#if defined(BIAS_T) || defined(ALIBI)
    return score * scale + added(at, of, row, column) * LOG2E;
#else
    return score;
#endif
}

// What to do with each score: of(m, n, e, score)
template <int COLUMNS, class Of> DEVICE void each_score(float (*s)[COLUMNS / 8][4], Of of) {
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int n = 0; n < COLUMNS / 8; ++n) {
            UNROLL for (int e = 0; e < 4; ++e) s[m][n][e] = of(m, n, e, s[m][n][e]);
        }
    }
}

DEVICE void start_rows(float (*top)[2], float (*sum)[2]) {
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int half = 0; half < 2; ++half) {
            top[m][half] = -INFINITY_OF(float);
            sum[m][half] = 0;
        }
    }
}

// A row's largest score so far becomes its top: factor is what its sum and output are scaled down by, from what scores are
// relative to. Tells whether a top of this lane changed.
template <int COLUMNS>
DEVICE bool raise_tops(const float (*s)[COLUMNS / 8][4], float (*top)[2], float (*factor)[2], float (*from)[2], const float unit) {
    bool changes = false;
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int half = 0; half < 2; ++half) {
            float higher = top[m][half];
            UNROLL for (int n = 0; n < COLUMNS / 8; ++n) {
                // NaN is passed over here, and meets the sum
                higher = fmaxf(higher, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
            }
            higher = across_four_most(higher);
            from[m][half] = higher == -INFINITY_OF(float) ? 0.0f : higher * unit;
            factor[m][half] = power_of_two(top[m][half] * unit - from[m][half]);
            changes |= higher != top[m][half];
            top[m][half] = higher;
        }
    }
    return changes;
}

template <int TILES> DEVICE void scale_rows(float (*out)[TILES][4], const float (*factor)[2]) {
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int n = 0; n < TILES; ++n) {
            UNROLL for (int e = 0; e < 4; ++e) out[m][n][e] *= factor[m][e / 2];
        }
    }
}

// Scores become powers of two, which join the sums. kept(m, half, n, e) is what a weight is multiplied by after it has been summed.
template <int COLUMNS, class Kept>
DEVICE void weigh(float (*s)[COLUMNS / 8][4], float (*sum)[2], const float (*from)[2], const float unit, Kept kept) {
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int half = 0; half < 2; ++half) {
            UNROLL for (int n = 0; n < COLUMNS / 8; ++n) {
                UNROLL for (int e = 2 * half; e < 2 * half + 2; ++e) {
                    float p = power_of_two(s[m][n][e] * unit - from[m][half]);
                    sum[m][half] += p;
#ifdef DROPS
                    if (p != 0) p *= kept(m, half, n, e);
#endif
                    s[m][n][e] = p;
                }
            }
        }
    }
}

// Scores become weights relative to their row's largest so far, to which sums and output are scaled down where it changed
template <int COLUMNS, int TILES, class Kept>
DEVICE void take_weights(float (*s)[COLUMNS / 8][4], float (*top)[2], float (*sum)[2], float (*out)[TILES][4], const float unit,
                         Kept kept) {
    float factor[STEPS][2], from[STEPS][2];
    if (any_lane(raise_tops<COLUMNS>(s, top, factor, from, unit))) {
        UNROLL for (int m = 0; m < STEPS; ++m) {
            UNROLL for (int half = 0; half < 2; ++half) sum[m][half] *= factor[m][half];
        }
        scale_rows<TILES>(out, factor);
    }
    weigh<COLUMNS>(s, sum, from, unit, kept);
}

#ifdef SINK_T
// The score of a head that has no value joins a row; returns what the row's output is multiplied by
DEVICE float join_sink(float token, float *most, float *total) {
    const float higher = fmaxf(token, *most), factor = power_of_two(*most - higher);
    *total = *total * factor + power_of_two(token - higher);
    *most = higher;
    return factor;
}
#endif
