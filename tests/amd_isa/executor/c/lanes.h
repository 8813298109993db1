// Exchange between lanes without memory and without an address in a register: v_permlane*, ds_swizzle.
static inline u32 swizzled(u32 l, u32 offset) {
    if (offset >= 0xe000) {  // the order of a fast Fourier transform, of the bits that the mask leaves
        const u32 mask = offset & 31;
        return (reversed(l & 31) >> 27) >> __builtin_popcount(mask) | (l & mask) | (l & 32);
    }
    if (offset >= 0xc000) {  // rotation of 32 lanes: the mask keeps bits as they are
        const u32 mask = offset & 31, turn = offset >> 5 & 31, down = offset >> 10 & 1;
        return (l & mask) | ((down ? l - turn : l + turn) & ~mask & 31) | (l & 32);
    }
    if (offset & 0x8000) return (l & ~3u) | (offset >> 2 * (l & 3) & 3);  // any order of four lanes
    return (((l & 31 & offset) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)) | (l & 32);
}
OP(ds_swizzle_b32) {
    const destination d = destination_of(w, r, 0);
    const source a = source_of(w, r, 1);
    const u64 exec = exec_of(w);
    u32 x[64] = {0};
    LANES { const u32 from = swizzled(l, r->offset); if (exec >> from & 1) x[l] = get_U32(a, from); }
    LANES put_U32(d, l, x[l]);
}
// Each lane of a row of 16 takes the lane that four bits of the selects name, of its row or of the neighbour. Without
// fi (op_sel's first bit) a lane that is off gives nothing, or 0 with bound_ctrl (the second bit).
#define PERMLANE(name, flip, choose) OP(name) { \
    const destination d = destination_of(w, r, 0); const source a = source_of(w, r, 1), b = source_of(w, r, 2); \
    const source c = source_of(w, r, r->count > 3 ? 3 : 2); const u64 exec = exec_of(w); u32 x[64]; u64 valid = 0; \
    (void)c; \
    LANES { const u32 from = ((l & ~15u) ^ flip) | ((choose) & 15); const int on = exec >> from & 1 || r->op_sel & 1; \
            x[l] = on ? get_U32(a, from) : 0; valid |= (u64)(on || r->op_sel & 2) << l; } \
    LANES if (valid >> l & 1) put_U32(d, l, x[l]); }
#define SELECT_BITS ((get_U32(b, 0) | (u64)get_U32(c, 0) << 32) >> 4 * (l & 15))
PERMLANE(v_permlane16_b32, 0, SELECT_BITS) PERMLANE(v_permlanex16_b32, 16, SELECT_BITS)
PERMLANE(v_permlane16_var_b32, 0, get_U32(b, l)) PERMLANE(v_permlanex16_var_b32, 16, get_U32(b, l))
OP(v_permlane64_b32) {
    const destination d = destination_of(w, r, 0);
    const source a = source_of(w, r, 1);
    u32 x[64];
    if (w->width == 32) return;
    for (int l = 0; l < 64; l++) x[l] = get_U32(a, l ^ 32);
    LANES put_U32(d, l, x[l]);
}
