// kernels_cuda/attention/mma_registers.h on the host

DEVICE u32 pack_two(float low, float high) {
#ifdef DTYPE_BFLOAT16
    return (u32)PD_BF16_FROM_FLOAT(low) | (u32)PD_BF16_FROM_FLOAT(high) << 16;
#else
    return half_bits(low) | half_bits(high) << 16;
#endif
}

DEVICE float of_lane(float v, int other) {
    SHOWN[LANE_OF][0] = as_uint(v);
    sub_group_waits();
    const float found = as_float(SHOWN[other][0]);
    sub_group_waits();
    return found;
}
DEVICE float across_four_most(float v) {
    for (int far = 1; far < 4; far *= 2) v = std::fmax(v, of_lane(v, LANE_OF ^ far));
    return v;
}
DEVICE float across_four_sum(float v) {
    for (int far = 1; far < 4; far *= 2) v += of_lane(v, LANE_OF ^ far);
    return v;
}
DEVICE float power_of_two(float v) { return v < -126 ? 0.0f : std::exp2(v); }
DEVICE bool any_lane(bool v) {
    SHOWN[LANE_OF][0] = v;
    sub_group_waits();
    bool any = false;
    for (int lane = 0; lane < 32; ++lane) any |= SHOWN[lane][0] != 0;
    sub_group_waits();
    return any;
}
