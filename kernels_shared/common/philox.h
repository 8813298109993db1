// Philox4x32-10, a generator without state: random words are a function of a counter and a key (J. Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3). backends/philox.py is the same in NumPy.
//
//   philox4x32(words, key0, key1)          words[0..3]: in the counter, out four random words (u32)
//   philox4x32_lanes(words, key0, key1)    the same in each of PHILOX_LANES lanes of philox_lanes, where that is defined
//                                          before (OpenCL on CPUs); the upper half of each lane comes out as zeros
//
// Who draws which numbers, on every device:
//
//   key      = seed, low word first
//   counter  = {block, stream, draw (low word), draw (high word)}
//   element i of a tensor, counted in logical order (n, c, [d,] h, w) whatever its layout, has word i % 4 of block i / 4
//
// `draw` counts the calls since the seed was set, `stream` tells apart the tensors of one call (dropout has 0, and an RNN
// its layers). An element is kept where its word is >= the threshold, round(p * 2**32) for the probability p to drop it.

#define PHILOX_MULTIPLIER_0 0xD2511F53u
#define PHILOX_MULTIPLIER_1 0xCD9E8D57u
#define PHILOX_WEYL_0 0x9E3779B9u  // the golden ratio
#define PHILOX_WEYL_1 0xBB67AE85u  // sqrt(3) - 1
#define PHILOX_ROUNDS 10

DEVICE void philox4x32(u32 *words, u32 key0, u32 key1) {
    u32 c0 = words[0], c1 = words[1], c2 = words[2], c3 = words[3];
    UNROLL for (int round = 0; round < PHILOX_ROUNDS; ++round) {
        const u64 p0 = (u64)c0 * PHILOX_MULTIPLIER_0, p1 = (u64)c2 * PHILOX_MULTIPLIER_1;
        c0 = (u32)(p1 >> 32) ^ c1 ^ key0;
        c1 = (u32)p1;
        c2 = (u32)(p0 >> 32) ^ c3 ^ key1;
        c3 = (u32)p0;
        key0 += PHILOX_WEYL_0;
        key1 += PHILOX_WEYL_1;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

#ifdef PHILOX_LANES
// A word in 64 bits: then the product is one multiplication of the CPU's, which reads the lower halves only, so that
// what the upper ones hold in between does not matter.
typedef PD_CAT(ulong, PHILOX_LANES) philox_lanes;
#define PHILOX_LOW(v) ((v) & (u64)0xFFFFFFFFu)

DEVICE void philox4x32_lanes(philox_lanes *words, u32 key0, u32 key1) {
    philox_lanes c0 = words[0], c1 = words[1], c2 = words[2], c3 = words[3];
    UNROLL for (int round = 0; round < PHILOX_ROUNDS; ++round) {
        const philox_lanes p0 = PHILOX_LOW(c0) * (u64)PHILOX_MULTIPLIER_0;
        const philox_lanes p1 = PHILOX_LOW(c2) * (u64)PHILOX_MULTIPLIER_1;
        c0 = (p1 >> 32) ^ c1 ^ (u64)key0;
        c1 = p1;
        c2 = (p0 >> 32) ^ c3 ^ (u64)key1;
        c3 = p0;
        key0 += PHILOX_WEYL_0;
        key1 += PHILOX_WEYL_1;
    }
    words[0] = PHILOX_LOW(c0);
    words[1] = PHILOX_LOW(c1);
    words[2] = PHILOX_LOW(c2);
    words[3] = PHILOX_LOW(c3);
}
#endif
