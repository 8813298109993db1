// Where the points of a grid lie in an image, for the kernels of the spatial transformer's sampler; include after common/types.h.
//
//      j        j + 1           u = (grid_x + 1) / 2 * (w - 1) counts pixels from the first one's centre, v rows;
//   i  a--------b               j, i are u, v rounded down, fu, fv what is left:
//      |   * (u, v)
//      |        |               y = (1 - fv) ((1 - fu) a + fu b) + fv ((1 - fu) c + fu d)
//  i+1 c--------d
//
// Pixels outside the image are zero. A point further than a pixel outside, or none (NaN), is not `inside`.

// h, w: x's size; p, q: the grid's; then strides of x (or dx), y (or dy) and the grid
#define SIZES                                                                                              \
    const int channels, const int h, const int w, const int p, const int q, const idx_t x_n,               \
        const idx_t x_c, const idx_t x_h, const idx_t x_w, const idx_t y_n, const idx_t y_c,               \
        const idx_t y_h, const idx_t y_w, const idx_t g_n, const idx_t g_h, const idx_t g_w, const idx_t g_2

// row of point s of an image; with ONE_ROW p is 1
#ifdef ONE_ROW
#define ROW_OF(s) 0u
#else
#define ROW_OF(s) ((s) / q)
#endif

typedef struct {
    int i, j, inside;
    real u, v, fu, fv;
} Place;

DEVICE Place place_of(real gx, real gy, int h, int w) {
    Place at;
    at.u = (gx + (real)1) * ((real)0.5 * (real)(w - 1));
    at.v = (gy + (real)1) * ((real)0.5 * (real)(h - 1));
    at.inside = (at.u >= (real)-1) & (at.u < (real)w) & (at.v >= (real)-1) & (at.v < (real)h);  // no branches: CPUs
    at.u = at.inside ? at.u : (real)0;
    at.v = at.inside ? at.v : (real)0;
    at.j = (int)at.u;  // towards zero
    at.i = (int)at.v;
    at.j -= at.u < (real)at.j;
    at.i -= at.v < (real)at.i;
    at.fu = at.u - (real)at.j;
    at.fv = at.v - (real)at.i;
    return at;
}

// A cell is the square between four pixels, (i, j) the first of them: h + 1 rows of w + 1 cells, borders included.
#define CELL_PITCH(w) ((u32)(w) + 2)  // counters of a row of cells: one more, which becomes the row's end
#define CELL(at, w) ((u32)((at).i + 1) * CELL_PITCH(w) + (u32)((at).j + 1))
#define CELLS_OF(h, w) (((u32)(h) + 1) * CELL_PITCH(w))
