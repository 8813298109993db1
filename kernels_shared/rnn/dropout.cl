// Dropout between the layers of a recurrent network. Element i of a layer's outputs (row, direction, unit) has word i % 4 of
// block i / 4 of the layer's stream (common/philox.h). The seed and the draw are kept in the reserve space, from which the
// gradient makes the same mask again. One work-item a block; on CPUs a work-group of one takes CHUNK of them.

#include "common/types.h"
#include "tensor/dropout_states.h"

// kept[start ..] = seed and draw, as four words; the states go on to the next draw
KERNEL WG_SIZE(1, 1, 1) rnn_draw(TENSOR(u8, states), TENSOR(real, kept), const i64 start) {
    GRID_WAIT();
    BIND(u8, states);
    BIND(real, kept);
    GLOBAL u32 *state = (GLOBAL u32 *)states;
    GLOBAL u32 *words = (GLOBAL u32 *)(kept + start);
    for (int i = 0; i < 4; ++i) words[i] = state[i];
    next_draw(state);
}

// to = from * scale where the mask keeps it, else 0; `to` may be `from`
#ifdef SCHEDULE_CPU
KERNEL WG_SIZE(1, 1, 1)
#else
KERNEL WG_SIZE(256, 1, 1)
#endif
rnn_dropout(TENSOR(const real, from), TENSOR(real, to), TENSOR(const real, kept), const i64 from_start, const i64 to_start,
            const i64 kept_start, const u32 stream, const i64 threshold, const real scale, const i64 size) {
    GRID_WAIT();
    GRID_WAIT();
    BIND(const real, from);
    BIND(real, to);
    BIND(const real, kept);
    const GLOBAL u32 *drawn = (const GLOBAL u32 *)(kept + kept_start);
#ifdef SCHEDULE_CPU
    for (i64 block = (i64)GRP(0) * CHUNK; block < ((i64)GRP(0) + 1) * CHUNK && block * 4 < size; ++block) {
#else
    const i64 block = (i64)GRP(0) * 256 + LID(0);
    if (block * 4 < size) {
#endif
        u32 words[4];
        words[0] = (u32)block;
        words[1] = stream;
        words[2] = drawn[2];
        words[3] = drawn[3];
        philox4x32(words, drawn[0], drawn[1]);
        for (int j = 0; j < 4 && block * 4 + j < size; ++j) {
            const i64 at = block * 4 + j;
            to[to_start + at] = (i64)words[j] >= threshold ? from[from_start + at] * scale : (real)0;
        }
    }
}
