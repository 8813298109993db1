// The four pixels around a point, and the gradient of its place; include after grid/sample.h, which names them.

typedef struct {
    idx_t at;                   // of the first pixel; may wrap around where that is outside
    int up, down, left, right;  // whether these rows and columns are in the image
} Corners;

DEVICE Corners corners_of(Place at, int h, int w, idx_t x_h, idx_t x_w) {
    Corners k;
    k.at = (idx_t)at.i * x_h + (idx_t)at.j * x_w;
    k.up = at.inside && at.i >= 0;
    k.down = at.inside && at.i + 1 < h;
    k.left = at.j >= 0;
    k.right = at.j + 1 < w;
    return k;
}
#define READ(p, there, offset) ((there) ? VLOAD(p, offset) : VSPLAT(0))
#define READ_A(p, k) READ(p, (k).up && (k).left, (k).at)
#define READ_B(p, k) READ(p, (k).up && (k).right, (k).at + x_w)
#define READ_C(p, k) READ(p, (k).down && (k).left, (k).at + x_h)
#define READ_D(p, k) READ(p, (k).down && (k).right, (k).at + x_h + x_w)

DEVICE real lanes_sum(vreal v) {
    real total = LANE(v, 0);
#if VW > 1
    UNROLL for (int j = 1; j < VW; ++j) total += LANE(v, j);
#endif
    return total;
}

typedef struct {
    real u, v;
} Slopes;

// sums over the channels first, first + step, .. of dy times what y gains as the point moves right, or down, by a pixel;
// IN_FLIGHT of them are read at a time
DEVICE Slopes slopes_of(Place at, const GLOBAL T *from, const GLOBAL T *dys, int first, int step, int channels, int h,
                        int w, idx_t x_c, idx_t x_h, idx_t x_w, idx_t y_c) {
    const Corners k = corners_of(at, h, w, x_h, x_w);
    const real fu = at.fu, fv = at.fv, eu = 1 - fu, ev = 1 - fv;
    vreal tu = VSPLAT(0), tv = VSPLAT(0);
    Slopes sum;
    if (at.inside)
        for (int base = first; base < channels; base += IN_FLIGHT * step)
            UNROLL for (int e = 0; e < IN_FLIGHT; ++e) {
                const int c = base + e * step;
                if (c < channels) {
                    const GLOBAL T *plane = from + (idx_t)c * x_c;
                    const vreal gradient = VLOAD(dys, (idx_t)c * y_c);
                    const vreal va = READ_A(plane, k), vb = READ_B(plane, k);
                    const vreal vc = READ_C(plane, k), vd = READ_D(plane, k);
                    tu = tu + gradient * ((vb - va) * ev + (vd - vc) * fv);
                    tv = tv + gradient * ((vc - va) * eu + (vd - vb) * fu);
                }
            }
    sum.u = lanes_sum(tu);
    sum.v = lanes_sum(tv);
    return sum;
}
#define SCALED_SLOPE(sum, size) ((sum) * ((real)0.5 * (real)((size) - 1)))  // from pixels to the grid's coordinates
