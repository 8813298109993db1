// Slices of one matrix of gemm/matrix.cl, which includes this for either: chunks along k as they lie, or others turned over.
//
//   SIDE(name)       name of what belongs to this matrix       SIDE_LINES      lines (rows of a, columns of b) of a tile
//   SIDE_ALONG_K     neighbours in memory are along k, else along lines: a unit is a chunk, or VE lines of PART neighbours in k
//   SIDE_VECTOR      chunks are either all inside or all outside
//   SIDE_ROW(line)   where a line lies among the slice's rows

#if SIDE_ALONG_K
#define SIDE_PARTS 1
#define SIDE_LINE(unit) ((unit) / CHUNKS)
#define SIDE_K(unit) ((unit) % CHUNKS * VE)
#else
#define SIDE_PARTS PART
#define SIDE_LINE(unit) ((unit) / 8 * VE)
#define SIDE_K(unit) ((unit) % 8 * PART)
#endif
#define SIDE_UNITS (SIDE_LINES * CHUNKS / SIDE_PARTS)
#define SIDE_EACH ((SIDE_UNITS + ITEMS - 1) / ITEMS)

typedef struct {
    Chunk chunks[SIDE_EACH][SIDE_PARTS];
} SIDE(Next);

DEVICE void SIDE(load)(SIDE(Next) *next, const GLOBAL E *from, i64 step, int item, int first, int lines, int k0, int depth) {
    UNROLL for (int i = 0; i < SIDE_EACH; ++i) {
        const int unit = item + i * ITEMS, line = first + SIDE_LINE(unit);
        UNROLL for (int p = 0; p < SIDE_PARTS; ++p) {
            const int k = k0 + SIDE_K(unit) + p;
            const int rest = line >= lines || k >= depth ? 0 : SIDE_ALONG_K ? depth - k : lines - line;
            const GLOBAL E *at = from + (rest > 0 ? SIDE_ALONG_K ? line * step + k : k * step + line : 0);
#if SIDE_VECTOR
            next->chunks[i][p] = *(const GLOBAL LooseChunk *)at;
#else
            Elements v;
            UNROLL for (int e = 0; e < VE; ++e) v[e] = e < rest ? at[e] : (E)0;
            next->chunks[i][p] = PD_AS(Chunk, v);
#endif
        }
    }
}

DEVICE void SIDE(store)(SIDE(Next) *next, LOCAL_ARG Chunk *slice, int item, int first, int lines, int k0, int depth) {
    const Chunk none = (Chunk)(0);
    UNROLL for (int i = 0; i < SIDE_EACH; ++i) {
        const int unit = item + i * ITEMS, line = SIDE_LINE(unit), k = SIDE_K(unit);
        if (SIDE_UNITS % ITEMS != 0 && unit >= SIDE_UNITS) break;
        UNROLL for (int p = 0; p < SIDE_PARTS; ++p) {
            if (first + line >= lines || k0 + k + p >= depth) next->chunks[i][p] = none;
        }
#if SIDE_ALONG_K
        slice[PLACE(SIDE_ROW(line), k / VE)] = next->chunks[i][0];
#else
        UNROLL for (int e = 0; e < VE; ++e) {
            const Half turned = turned_half(next->chunks[i], e);
            ((LOCAL_ARG Half *)slice)[2 * PLACE(SIDE_ROW(line + e), k / VE) + k / PART % 2] = turned;
        }
#endif
    }
}

#undef SIDE
#undef SIDE_LINES
#undef SIDE_ALONG_K
#undef SIDE_VECTOR
#undef SIDE_ROW
#undef SIDE_PARTS
#undef SIDE_LINE
#undef SIDE_K
#undef SIDE_UNITS
#undef SIDE_EACH
