// What conv/mma_filter_planes.cu and conv/mma_image_planes.cu have alike: floats that pass through registers into panels (common/wgmma.h),
// slices of 32 of K, warpgroups of 64 x BN. After conv/geometry.h, with BM BN WM WN STAGES RESIDENT THREE TERM LOADERS.
//
// THREE: a number is the sum of two of TF32, what rounding left being the second one, and a product the sum of three: big x big, big x
// small, small x big. What is left out is 2^-22 of it at most. TERM slices are added up by the tensor cores, which cut off, and such
// sums by ordinary additions.
//
// LOADERS: sub-groups beside those that multiply, which load and round for them; of registers they have GIVEN and the others TAKEN.
// A slice's place is filled as soon as its readers have left it. 0: all sub-groups do both in turn.

#define MULTIPLIERS (BM / WM * (BN / WN))
#define ITEMS ((MULTIPLIERS + LOADERS) * 32)
#define MT (WM / 16)
#define NT (WN / 8)
#define BK 32
#define WAVES (LOADERS ? LOADERS : MULTIPLIERS)  // that load
#define LOADING_ITEM ((int)threadIdx.x - (LOADERS ? MULTIPLIERS * 32 : 0))
#define A_BYTES (BM * 128)
#define HALF_BYTES (A_BYTES + BN * 128)
#define STAGE_BYTES (HALF_BYTES * (1 + THREE))
#define TERM_SLICES (THREE ? TERM : 1 << 24)
#define STILL_RUNNING (STAGES > 2 ? 1 + 2 * THREE : 0)  // issues, when the next slice is stored
#define STORERS (MULTIPLIERS * 32)
#define STORERS_MEET turn_wait(2, STORERS)
#include "conv/mma_warpgroups.h"
static_assert(MT == 1 && BN == WN, "warpgroups have whole rows");
static_assert(SIZE_D + SIZE_H + SIZE_W < 32, "a bit for each");

#define NEVER ((u32)1 << 31)  // the bit that no pixel has

// by which a tap knows pixels where it is inside of the image
DEVICE u32 bits_of(int d, int h, int w) { return (u32)1 << d | (u32)1 << (SIZE_D + h) | (u32)1 << (SIZE_D + SIZE_H + w); }
DEVICE u32 taps_inside(const Pixel *pixel) {
    u32 taps = 0;
    UNROLL for (int d = 0; d < SIZE_D; ++d) taps |= (u32)(!CHECK_D || (u32)(pixel->d + d * TAP_D) < (u32)EXTENT_D) << d;
    UNROLL for (int h = 0; h < SIZE_H; ++h) taps |= (u32)(!CHECK_H || (u32)(pixel->h + h * TAP_H) < (u32)EXTENT_H) << (SIZE_D + h);
    UNROLL for (int w = 0; w < SIZE_W; ++w) {
        taps |= (u32)(!CHECK_W || (u32)(pixel->w + w * TAP_W) < (u32)EXTENT_W) << (SIZE_D + SIZE_H + w);
    }
    return taps;
}

DEVICE u32 small_of(float v, u32 big) { return tf32_bits(v - __uint_as_float(big)); }
DEVICE void put(unsigned char *to, float v) {
    const u32 big = tf32_bits(v);
    *(u32 *)to = big;
    if (THREE) *(u32 *)(to + HALF_BYTES) = small_of(v, big);
}
struct alignas(16) Words {
    u32 v[4];
};
DEVICE void put_chunk(unsigned char *to, const float *v) {
    Words big, small;
    UNROLL for (int e = 0; e < 4; ++e) {
        big.v[e] = tf32_bits(v[e]);
        small.v[e] = small_of(v[e], big.v[e]);
    }
    *(Words *)to = big;
    if (THREE) *(Words *)(to + HALF_BYTES) = small;
}

// RUN numbers of a line, 1 or a chunk of 4 at a multiple of 16 bytes, zeros where not `in`; and their way into a panel
template <int RUN> DEVICE void load_run(float *v, const float *from, bool in) {
    if (RUN == 1) {
        v[0] = in ? *from : 0.0f;
        return;
    }
    Four run = {};
    if (in) run = *(const Four *)from;
    UNROLL for (int e = 0; e < RUN; ++e) v[e] = run.v[e];
}
template <int RUN> DEVICE void put_run(unsigned char *panels, int line, int k, const float *v) {
    if (RUN == 1) put(panels + in_panel(line, k / 4) + k % 4 * 4, v[0]);
    else put_chunk(panels + in_panel(line, k / 4), v);
}

// Products of two panels, the first of which begin a sum unless it `adds`
DEVICE void issue_panels(float acc[MT][NT][4], u32 a_tile, u32 b_tile, int warpgroup, int adds) {
    const u64 a = panels_of(a_tile + warpgroup * (64 * 128), 0), b = panels_of(b_tile, 0);
    products_begin();
    multiply_after<0, 0>(columns<WN>(), acc[0][0], a, b, adds);
    UNROLL for (int step = 1; step < 4; ++step) {
        multiply_local<0, 0>(columns<WN>(), acc[0][0], a + IN_PANELS(step * 32), b + IN_PANELS(step * 32));
    }
    products_issued();
}

// Adds slices: begin(s) waits for one, end(s) is called when those before it have been read, or all have
template <class Begin, class End>
DEVICE void add_slices(float acc[MT][NT][4], u32 base, int count, Begin begin, End end) {
#if THREE
    float part[MT][NT][4] = {};
#else
    auto &part = *(float(*)[MT][NT][4])acc;
#endif
    auto part_ends = [&]() {
        products_wait<0>();
        sums_stay<NT * 4>(part[0][0]);
#if THREE
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int e = 0; e < 4; ++e) acc[0][j][e] += part[0][j][e];
        }
#endif
    };
    const int warpgroup = of_all_lanes(threadIdx.x / 128);
    for (int first = 0; first < count; first += TERM_SLICES) {  // what adds parts up is behind a loop: in it, the compiler would wait
        const int last = first + TERM_SLICES < count ? first + TERM_SLICES : count;
        for (int s = first; s < last; ++s) {
            begin(s);
            const u32 at = base + s % STAGES * STAGE_BYTES;
            if (THREE) {
                issue_panels(part, at + HALF_BYTES, at + A_BYTES, warpgroup, s > first);
                issue_panels(part, at, at + HALF_BYTES + A_BYTES, warpgroup, 1);
            }
            issue_panels(part, at, at + A_BYTES, warpgroup, 1);
            products_wait<STILL_RUNNING>();
            end(s);
        }
        part_ends();
    }
}

// Adds `count` slices: bring() loads the next one, put_slice(at) stores what was loaded, and leave(acc) is given the sums
template <class Bring, class Put, class Leave>
DEVICE void multiply_planes(u32 base, int count, Bring bring, Put put_slice, Leave leave) {
#if LOADERS
    LOCAL u64 marks[2 * STAGES];  // a place is full, and is free
    const u32 full = local_address(marks), left = full + 8 * STAGES;
    if (threadIdx.x == 0) {
        for (int n = 0; n < STAGES; ++n) {
            barrier_start(full + 8 * n, LOADERS * 32);
            barrier_start(left + 8 * n, MULTIPLIERS);
        }
    }
    __syncthreads();
    if (threadIdx.x >= MULTIPLIERS * 32) {
        registers_give<GIVEN>();
        for (int s = 0; s < count; ++s) {
            bring();
            if (s >= STAGES) barrier_wait(left + s % STAGES * 8, (s / STAGES - 1) % 2);
            put_slice(s % STAGES * STAGE_BYTES);
            local_written();
            barrier_arrive(full + s % STAGES * 8);
        }
    } else {
        registers_take<TAKEN>();
        float acc[MT][NT][4] = {};
        add_slices(
            acc, base, count, [&](int s) { barrier_wait(full + s % STAGES * 8, s / STAGES % 2); },
            [&](int s) {
                if (s > 0 && threadIdx.x % 32 == 0) barrier_arrive(left + (s - 1) % STAGES * 8);
            });
        leave(acc);
    }
#else
    float acc[MT][NT][4] = {};
    bring();
    add_slices(
        acc, base, count,
        [&](int s) {
            put_slice(s % STAGES * STAGE_BYTES);
            bring();
            local_written();
            __syncthreads();
        },
        [](int s) {});
    leave(acc);
#endif
}
