// Places of pixels and of a matrix's numbers, for affine transformations; include after common/types.h.

// where pixel i of `size` sits
DEVICE real place(u32 i, u32 size) {
    return size == 1 ? (real)-1 : (real)((int)(2 * i) - (int)(size - 1)) / (real)(size - 1);
}

#define THETA(n, k) ((n) * t_n + (k) / 3 * t_r + (k) % 3 * t_k)
