// Ranks of batch normalisation exchange their statistics through each other's memory: two arrays of NUMBERS numbers of each rank reach all.
//
//   peers      the buffers of the RANKS ranks, each [RANKS][2 * NUMBERS] cells of two words:  | value | 1 once it has arrived, else 0 |
//              a rank writes row `rank` of every other rank's buffer, and waits for the other rows of its own
//   first_all, second_all   [RANKS][NUMBERS], in the order of the ranks;  counts [RANKS] = count
//
//   peer 0's buffer      peer 1's buffer           rank 0 writes the cells x, rank 1 the cells o; what is read becomes 0 again,
//   row 0 |         |    row 0 | x x x x |         which tells the writer that the cell is free for the next exchange
//   row 1 | o o o o |    row 1 |         |
//
// A work-item waits for other ranks only, and only after it has written all that these wait for from it: no order in which work-groups
// start is a deadlock, as long as some of each rank's run. So there are few of them, and they leave room for other ranks of the same
// device. After `patience` nanoseconds NaN stands for what has not arrived.

#include "common/types.h"

#if REAL_BYTES == 4
#define WORD u32
#define LOAD_WORD(v, p) asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory")
#define ACQUIRE_WORD(v, p) asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory")
#define STORE_WORD(p, v) asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory")
#define RELEASE_WORD(p, v) asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory")
#define AS_WORD(v) __float_as_uint(v)
#define AS_REAL(v) __uint_as_float(v)
#define NOT_A_NUMBER __uint_as_float(0x7fffffffu)
#else
#define WORD u64
#define LOAD_WORD(v, p) asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory")
#define ACQUIRE_WORD(v, p) asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory")
#define STORE_WORD(p, v) asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory")
#define RELEASE_WORD(p, v) asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory")
#define AS_WORD(v) (u64) __double_as_longlong(v)
#define AS_REAL(v) __longlong_as_double((long long)(v))
#define NOT_A_NUMBER __longlong_as_double(0x7fffffffffffffffll)
#endif

DEVICE u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Whether the mark at p becomes `wanted` in time.
DEVICE bool becomes(const WORD *p, WORD wanted, u64 start, u64 patience) {
    WORD seen;
    ACQUIRE_WORD(seen, p);
    while (seen != wanted) {
        if (nanoseconds() - start > patience) return false;
        __nanosleep(100);
        ACQUIRE_WORD(seen, p);
    }
    return true;
}

KERNEL WG_SIZE(WG, 1, 1) norm_exchange(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    real *const peers[RANKS] = {PEERS};
    const u64 start = nanoseconds();
    const u32 item = (u32)GRP(0) * WG + (u32)LID(0), step = (u32)NGRP(0) * WG;
    for (u32 i = item; i < 2 * NUMBERS; i += step) {
        const real value = i < NUMBERS ? first[i] : second[i - NUMBERS];
        for (int p = 0; p < RANKS; ++p) {
            if (p == rank) continue;
            WORD *cell = (WORD *)peers[p] + 2 * ((u64)rank * (2 * NUMBERS) + i);
            if (!becomes(cell + 1, 0, start, patience)) continue;
            STORE_WORD(cell, AS_WORD(value));
            RELEASE_WORD(cell + 1, (WORD)1);
        }
    }
    for (u32 i = item; i < 2 * NUMBERS; i += step) {
        for (int r = 0; r < RANKS; ++r) {
            real value = i < NUMBERS ? first[i] : second[i - NUMBERS];
            if (r != rank) {
                WORD *cell = (WORD *)peers[rank] + 2 * ((u64)r * (2 * NUMBERS) + i);
                WORD word;
                value = NOT_A_NUMBER;
                if (becomes(cell + 1, 1, start, patience)) {
                    LOAD_WORD(word, cell);
                    value = AS_REAL(word);
                    STORE_WORD(cell, (WORD)0);
                    RELEASE_WORD(cell + 1, (WORD)0);
                }
            }
            if (i < NUMBERS)
                first_all[r * NUMBERS + i] = value;
            else
                second_all[r * NUMBERS + i - NUMBERS] = value;
        }
    }
    for (u32 r = item; r < RANKS; r += step) counts[r] = count;
}
