// Rows of attention's tensors as panels in local memory (common/wgmma.h), copied by the 128 work-items of one warpgroup

#define PANELS(n) (((n) + 63) / 64)

// Rows `first` .. `first` + ROWS - 1 of LENGTH elements, of which `count` are there and the others zeros, to byte `to`: panels
// lie ROWS * 128 bytes apart
template <int ROWS, int LENGTH>
DEVICE void copy_panels(unsigned char *tiles, u32 to, const T *from, i64 step, i64 step_d, int first, int count, bool chunks) {
    const int per_row = LENGTH / 8, apart = 128 / per_row, item = threadIdx.x % 128;
    if (!chunks) {
        for (int place = item; place < ROWS * per_row; place += 128) {
            const int row = place / per_row, chunk = place % per_row;
            T *into = (T *)(tiles + to + chunk / 8 * ROWS * 128 + in_panel(row, chunk % 8));
            for (int e = 0; e < 8; ++e) into[e] = row < count ? from[(first + row) * step + (chunk * 8 + e) * step_d] : (T)0;
        }
    } else if (128 % per_row == 0) {
        const int chunk = item % per_row;
        int row = item / per_row;
        const u32 panel = local_address(tiles) + to + chunk / 8 * ROWS * 128;
        const T *at = from + (first + row) * step + chunk * 8;
        _Pragma("unroll 4") for (int n = 0; n < ROWS / apart; ++n, row += apart) {  // those that copy have few registers
            copy_chunk(panel + in_panel(row, chunk % 8), row < count ? at : from, row < count);
            at += apart * step;
        }
    } else {
        for (int place = item; place < ROWS * per_row; place += 128) {
            const int row = place / per_row, chunk = place % per_row;
            const u32 into = local_address(tiles) + to + chunk / 8 * ROWS * 128 + in_panel(row, chunk % 8);
            copy_chunk(into, row < count ? from + (first + row) * step + chunk * 8 : from, row < count);
        }
    }
}

// sums = 64 rows of queries (or keys) from byte `own` on, in panels of OWN rows, times the COLUMNS rows at `other`, LENGTH numbers each
template <int OWN, int COLUMNS, int LENGTH> DEVICE void issue_scores(float *sums, u32 own, u32 other) {
    const u64 rows = panels_of(own, 0), others = panels_of(other, 0);
    multiply_first<0, 0>(columns<COLUMNS>(), sums, rows, others);
    UNROLL for (int step = 1; step < LENGTH / 16; ++step) {
        multiply_local<0, 0>(columns<COLUMNS>(), sums, rows + IN_PANELS(step / 4 * OWN * 128 + step % 4 * 32),
                             others + IN_PANELS(step / 4 * COLUMNS * 128 + step % 4 * 32));
    }
    products_issued();
}
// sums += weights of COLUMNS rows times these, LENGTH numbers each, at byte `other`
template <int COLUMNS, int LENGTH> DEVICE void issue_sums(float *sums, const u32 (*weights)[4], u32 other) {
    const u64 others = panels_of(other, COLUMNS * 128);
    UNROLL for (int step = 0; step < COLUMNS / 16; ++step) {
        multiply_held<1>(columns<LENGTH>(), sums, weights[step], others + IN_PANELS(step * 16 * 128));
    }
    products_issued();
}
// Scores or weights as left operands
template <int COLUMNS> DEVICE void pack_weights(u32 (*words)[4], const float (*v)[4]) {
    UNROLL for (int step = 0; step < COLUMNS / 16; ++step) pack_operand(words[step], v[2 * step], v[2 * step + 1]);
}

// Numbers for 4 bytes each, `first` .. `first` + COUNT - 1, of which those before `end` are there; all multiples of 4
template <int COUNT> DEVICE void copy_statistics(unsigned char *tiles, u32 to, const float *from, int first, int end) {
    const int item = threadIdx.x % 128, at = first + 4 * item;
    if (item < COUNT / 4) copy_chunk(local_address(tiles) + to + 16 * item, (const T *)(at < end ? from + at : from), at < end);
}

// How many of `all` rows a tensor has of sequence b
#define ROWS_HELD(x, b, all) (RAGGED_##x ? least(all, (int)RAGGED_ROWS(b, RAGGED_##x)) : (all))

// A sub-group's 16 rows of sums, from row `first` on and before `end`, leave for a tensor: where it has the type T and takes chunks
// by way of panels at byte `place`, ROWS rows each, which nobody else of the group reads any more; else by put(row, column, v)
template <int ROWS, int LENGTH, bool SAME, class Element, class Put>
DEVICE void put_rows(unsigned char *tiles, u32 place, const float (*sums)[4], int warp, int lane, Element *to, i64 step, i64 step_d,
                     int first, int end, Put put) {
    const int row0 = warp * 16 + lane / 4;
    if (SAME && in_chunks(to, step, step_d)) {
        UNROLL for (int n = 0; n < LENGTH / 8; ++n) {
            UNROLL for (int half = 0; half < 2; ++half) {
                const u32 chunk = place + n / 8 * ROWS * 128 + in_panel(row0 + half * 8, n % 8);
                *(u32 *)(tiles + chunk + lane % 4 * 4) = pack_two(sums[n][2 * half], sums[n][2 * half + 1]);
            }
        }
        __syncwarp();
        for (int at = lane; at < 16 * (LENGTH / 8); at += 32) {
            const int row = at / (LENGTH / 8), chunk = at % (LENGTH / 8);
            const u32 from = place + chunk / 8 * ROWS * 128 + in_panel(warp * 16 + row, chunk % 8);
            if (first + row < end) *(Four *)(to + (first + row) * step + chunk * 8) = *(const Four *)(tiles + from);
        }
    } else {
        UNROLL for (int n = 0; n < LENGTH / 8; ++n) {
            UNROLL for (int e = 0; e < 4; ++e) {
                const int row = first + lane / 4 + e / 2 * 8;
                if (row < end) put(row, n * 8 + lane % 4 * 2 + e % 2, sums[n][e]);
            }
        }
    }
}
