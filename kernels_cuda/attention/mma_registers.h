// What passes between registers in attention/forward_mma.cu

// Two numbers in a word, rounded, the first in its lower half
DEVICE u32 pack_two(float low, float high) {
    u32 word;
    asm(PD_PACK " %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

// The largest and the sum of the four lanes that share a row
DEVICE float across_four_most(float v) {
    UNROLL for (int far = 1; far < 4; far *= 2) {
        const float other = exchange(v, far);
        v = other > v ? other : v;
    }
    return v;
}
DEVICE float across_four_sum(float v) {
    UNROLL for (int far = 1; far < 4; far *= 2) v += exchange(v, far);
    return v;
}

// 2 to the power of v, to two units in the last place; 0 for powers under the smallest normal number
DEVICE float power_of_two(float v) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v));
    return power;
}

DEVICE bool any_lane(bool v) { return __any_sync(0xffffffffu, v); }
