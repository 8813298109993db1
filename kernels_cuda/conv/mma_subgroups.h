// conv/mma.cu's products by sub-groups, in place of those of conv/mma_warpgroups.h. After conv/mma_place.h.

// Adds all slices, of which the first AHEAD are on their way; bring(s) starts the copies of another one, and finish(s) ends them
template <int LEFT_ACROSS, int ACROSS, class Bring, class Finish>
DEVICE void multiply_slices(MmaSum acc[MT][NT][4], u32 base, u32 a_bytes, int count, Bring bring, Finish finish) {
    const int item = threadIdx.x, lane = item % 32;
    const int wm = item / 32 % (BM / WM) * WM, wn = item / 32 / (BM / WM) * WN;
#ifdef PLANES
    const u32 a_at = A_START(lane, wm);
#else
    const int a_row = wm + A_ROW(0, lane % 16);
    const u32 a_at = PLACE(a_row, lane / 16, A_SPREAD(a_row));
#endif
    const u32 b_at = B_START(lane, wn);

    for (int s = 0; s < count; ++s) {
        copies_wait<AHEAD - 1>();
        __syncthreads();
        bring(s + AHEAD);
        const u32 stage = base + s % STAGES * STAGE_BYTES;
        UNROLL for (int step = 0; step < CHUNKS / 2; ++step) {
            u32 a[MT][4], b[NT / 2][4];
#ifdef PLANES
            load_planes(a, stage, a_at, step);
#else
            UNROLL for (int i = 0; i < MT; ++i) {
                const u32 down = (A_ROW(i, 0)) * SLICE;
                load_matrices(a[i], stage + (a_at ^ (u32)(step * 32)) + down);
#ifdef ROUND_IMAGE
                UNROLL for (int e = 0; e < 4; ++e) a[i][e] = tf32_bits(__uint_as_float(a[i][e]));
#endif
            }
#endif
            load_columns(b, stage + a_bytes, b_at, step);
            UNROLL for (int i = 0; i < MT; ++i) {
                UNROLL for (int j = 0; j < NT; ++j) multiply(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
            }
        }
        finish(s + AHEAD);
    }
}
