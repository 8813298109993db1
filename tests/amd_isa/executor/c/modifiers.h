// DPP and SDWA: the first source (both of SDWA) is brought into temporaries, and the instruction runs on a copy of its
// record. modifiers.py writes `extra`: its kinds and places are these.
enum { QUAD_PERM = 1, ROW_SHL, ROW_SHR, ROW_ROR, WAVE_SHL, WAVE_ROL, WAVE_SHR, WAVE_ROR, ROW_MIRROR, ROW_HALF_MIRROR,
       ROW_BCAST, ROW_SHARE, ROW_XMASK, DPP8 };
enum { KIND, ARGUMENT, ROW_MASK = 4, BANK_MASK, BOUND_CTRL, FETCH_INACTIVE, FIRST = 9 };  // of DPP
enum { DST_SEL, DST_UNUSED, SRC_SEL };                                                    // of SDWA
enum { BYTE_0, WORD_0 = 4, WORD_1, DWORD };
enum { UNUSED_PAD, UNUSED_SEXT, UNUSED_PRESERVE };

static int dpp_lane(const record *r, int l, int width) {  // the lane that l reads, or -1
    const int n = r->extra[ARGUMENT], row = l & ~15, i = l & 15;
    const u32 selects = r->extra[ARGUMENT] | r->extra[ARGUMENT + 1] << 8 | r->extra[ARGUMENT + 2] << 16;
    switch (r->extra[KIND]) {
    case QUAD_PERM: return (l & ~3) | (n >> 2 * (l & 3) & 3);
    case ROW_SHL: return i + n < 16 ? l + n : -1;
    case ROW_SHR: return i - n >= 0 ? l - n : -1;
    case ROW_ROR: return row | ((i - n) & 15);
    case WAVE_SHL: return l + 1 < width ? l + 1 : -1;
    case WAVE_ROL: return (l + 1) % width;
    case WAVE_SHR: return l - 1;
    case WAVE_ROR: return (l + width - 1) % width;
    case ROW_MIRROR: return row | (15 - i);
    case ROW_HALF_MIRROR: return (l & ~7) | (7 - (l & 7));
    case ROW_BCAST: return n == 15 ? row - 1 : l < 32 ? -1 : 31;
    case ROW_SHARE: return row | n;
    case ROW_XMASK: return row | (i ^ n);
    default: return (l & ~7) | (selects >> 3 * (l & 7) & 7);
    }
}
static void run_dpp(wave *w, const record *r, function f) {
    const int first = r->extra[FIRST];
    const u64 exec = exec_of(w);
    const source s = source_of(w, r, first);
    record copy = *r;
    u32 *to = w->file + TEMPORARIES + 2 * 64;
    u64 writes = 0;
    for (int l = 0; l < w->width; l++) {
        const int from = dpp_lane(r, l, w->width), valid = from >= 0 && (exec >> from & 1 || r->extra[FETCH_INACTIVE]);
        const int on = r->extra[ROW_MASK] >> l / 16 & r->extra[BANK_MASK] >> l / 4 % 4 & (valid || r->extra[BOUND_CTRL]);
        for (int i = 0; i < 2; i++) to[i * 64 + l] = valid ? s.p[from * s.lane + i * s.next] : 0;
        writes |= (u64)on << l;
    }
    copy.o[first].at = TEMPORARIES + 2 * 64;
    put_mask(w, EXEC, exec & writes);
    f(w, &copy);
    if (!(r->flags & WRITES_EXEC)) put_mask(w, EXEC, exec);
}

static u32 selected(u32 x, int select, int is_signed) {
    const int bits = select < WORD_0 ? 8 : select < DWORD ? 16 : 32, shift = select < WORD_0 ? 8 * select : 16 * (select == WORD_1);
    x = x >> shift & (bits == 32 ? ~0u : (1u << bits) - 1);
    return is_signed && x >> (bits - 1) ? x | ~((2u << (bits - 1)) - 1) : x;
}
static void run_sdwa(wave *w, const record *r, function f) {
    const int first = r->extra[FIRST], dst = r->extra[DST_SEL];
    record copy = *r;
    for (int i = 0; i < 2 && first + i < r->count; i++) {
        const operand o = r->o[first + i];
        const source s = source_of(w, r, first + i);
        u32 *to = w->file + TEMPORARIES + (2 + i) * 64;
        LANES to[l] = selected(s.p[l * s.lane], r->extra[SRC_SEL + i], o.flags & SEXT);
        copy.o[first + i] = (operand){.at = to - w->file, .lane = 1, .next = 64, .flags = o.flags & (ABS | NEG)};
    }
    if (dst == DWORD || !r->o[0].lane) return f(w, &copy);
    u32 *result = w->file + r->o[0].at, *old = w->file + TEMPORARIES + 4 * 64;
    memcpy(old, result, 64 * sizeof *old);
    f(w, &copy);
    const u32 bits = dst < WORD_0 ? 8 : 16, shift = dst < WORD_0 ? 8 * dst : 16 * (dst == WORD_1), mask = (1u << bits) - 1;
    LANES {
        const u32 x = result[l] & mask, above = shift + bits < 32 ? ~0u << (shift + bits) : 0;
        result[l] = x << shift | (r->extra[DST_UNUSED] == UNUSED_PRESERVE ? old[l] & ~(mask << shift)
                                  : r->extra[DST_UNUSED] == UNUSED_SEXT && x >> (bits - 1) ? above : 0);
    }
}
static void run_modified(wave *w, const record *r, function f) {
    if (r->modifier == SDWA) run_sdwa(w, r, f); else run_dpp(w, r, f);
}
