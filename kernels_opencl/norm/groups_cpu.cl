// Group normalisation on a CPU where channels lie side by side and a group is too narrow for vectors: channels are treated as
// columns (norm/columns_cpu.cl), and this joins the moments of a group's.
//
//   norm_columns_partial   moments of every channel of every image, from slices of its pixels
//   norm_groups            one work-item for each image and group: moments of EACH channels together; what y = (x - pivot) * gain +
//                          shift needs of every channel goes to the workspace
//   norm_columns_given     y from those

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/columns_cpu.h"

#define ALL (BLOCKS * COLUMNS)

#define CHANNEL_GAIN(c) PD_CAT(CHANNEL_GAIN_, HAS_SCALE)(c)
#define CHANNEL_GAIN_0(c) inverse
#define CHANNEL_GAIN_1(c) inverse * scale[(g * EACH + c) * SCALE_STRIDE]
#define CHANNEL_SHIFT(c) PD_CAT(CHANNEL_SHIFT_, HAS_BIAS)(c)
#define CHANNEL_SHIFT_0(c) 0
#define CHANNEL_SHIFT_1(c) bias[(g * EACH + c) * BIAS_STRIDE]

KERNEL WG_SIZE(1, 1, 1) norm_groups(PARAMETER_LIST) {
    BIND_PARAMETERS;
    const u32 n = (u32)GRP(0) / GROUPS, g = (u32)GRP(0) % GROUPS, first = n * COLUMNS + g * EACH;
    const real pivot = means[SLICES * ALL + first];
    sample all = {0, 0, 0};

    for (u32 at = first; at < first + EACH; ++at) {
        sample channel = {0, 0, 0};
        for (u32 k = 0; k < SLICES; ++k) {
            const sample part_ = {SLICE_ROWS(k), means[k * ALL + at], squares[k * ALL + at]};
            channel = united(channel, part_);
        }
        channel.mean += means[SLICES * ALL + at] - pivot;  // from its own pivot to the group's
        all = united(all, channel);
    }
    const real inverse = (real)1 / sqrt(all.squares / (real)COUNT + epsilon);
#ifdef HAS_SAVED
    saved_mean[SAVED_MEAN_AT(n, g)] = pivot + all.mean;
    saved_inv_variance[SAVED_INV_VARIANCE_AT(n, g)] = inverse;
#endif
    for (u32 c = 0; c < EACH; ++c) {
        const real gain = CHANNEL_GAIN(c), shift = CHANNEL_SHIFT(c);
        pivots[first + c] = pivot;
        gains[first + c] = gain;
        shifts[first + c] = shift - all.mean * gain;
    }
}
