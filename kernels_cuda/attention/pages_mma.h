// Keys and values in pages, for attention's kernels on tensor cores: row j of a sequence is row j % page of page
// table[sequence][j / page], of the type PAGES_K_T or PAGES_V_T. Without these the rows follow each other.
//
//   PAGES_ARGUMENTS                        a kernel's parameters
//   COPY_KEYS(to, j, count)                rows j .. of head h of sequence b, and of the values, to byte `to` of local memory
//   COPY_VALUES(to, j, count)

template <int ROWS, int LENGTH, class RowAt>
DEVICE void copy_paged(unsigned char *tiles, u32 to, int count, bool chunks, i64 step_d, RowAt row_at) {
    const int per_row = WIDE(LENGTH) / 8;
    if (LENGTH % 8 == 0 && ITEMS % per_row == 0 && chunks) {
        const int chunk = threadIdx.x % per_row, apart = ITEMS / per_row;
        UNROLL for (int row = threadIdx.x / per_row; row < (ROWS + apart - 1) / apart * apart; row += apart) {
            const bool reads = row < count && chunk * 8 < LENGTH;
            const T *from = reads ? row_at(row) + chunk * 8 : row_at(0);
            const u32 into = local_address(tiles) + to + row * PITCH(LENGTH) + chunk * 16;
            if (ROWS % apart == 0 || row < ROWS) copy_chunk(into, from, reads);
        }
        return;
    }
    copy_elements<ROWS, LENGTH>(tiles, to, count, step_d, row_at);
}

#define PAGED_ROW(x, row) (OF(x, x##_pages[FIRST_OF(x##_pages, b) + (row) / x##_page * x##_pages_s], hk) + (row) % x##_page * x##_s)
#define PAGED_CHUNKS(x) (in_chunks(x, x##_s, x##_d) && x##_b % 8 == 0 && x##_h % 8 == 0)
#define COPY_PAGED(x, length, to, j, count) \
    copy_paged<BC, length>(tiles, to, count, PAGED_CHUNKS(x), x##_d, [&](int row) { return PAGED_ROW(x, (j) + row); })
#define COPY_PLAIN(x, length, to, j, count) copy_rows<BC, length>(tiles, to, OF(x, b, hk), x##_s, x##_d, j, count)
#define PAGES(type, x) , TENSOR(const ELEMENT(type), x##_pages), const i64 x##_pages_b, const i64 x##_pages_s, const int x##_page

#ifdef PAGES_K_T
#define PAGES_OF_K PAGES(PAGES_K_T, k)
#define COPY_KEYS(to, j, count) COPY_PAGED(k, D, to, j, count)
#else
#define PAGES_OF_K
#define COPY_KEYS(to, j, count) COPY_PLAIN(k, D, to, j, count)
#endif
#ifdef PAGES_V_T
#define PAGES_OF_V PAGES(PAGES_V_T, v)
#define COPY_VALUES(to, j, count) COPY_PAGED(v, DV, to, j, count)
#else
#define PAGES_OF_V
#define COPY_VALUES(to, j, count) COPY_PLAIN(v, DV, to, j, count)
#endif
#define PAGES_ARGUMENTS PAGES_OF_K PAGES_OF_V
