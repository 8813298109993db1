// Vectors that end before VW, and private arrays that vectors are read from at any place.

// Elements of a vector that ends before VW.
#define PART_LOAD(v, p, count, step)                                                                       \
    {                                                                                                      \
        v = VSPLAT(0);                                                                                     \
        for (u32 l = 0; l < (count); ++l) LANE(v, l) = LOAD(p, l * (step));                                \
    }
#define PART_BLEND(p, count, step, value)                                                                  \
    {                                                                                                      \
        vreal lanes = value;                                                                               \
        for (u32 l = 0; l < (count); ++l) BLEND(p, l * (step), alpha, LANE(lanes, l), beta);               \
    }

typedef vreal unaligned __attribute__((aligned(sizeof(real))));
#define AT(array, i) (*(unaligned *)((array) + (i)))

// array[0 ..] = numbers first .. first + count - 1 of a line of `size`, zeros outside it; `vload` and `load` read `line`.
// Up to VW - 1 more numbers are overwritten.
#define COPY_LINE(array, vload, load, line, step, first, count, size)                                      \
    {                                                                                                      \
        const int low = (first) > 0 ? (first) : 0;                                                         \
        const int high = (first) + (count) < (int)(size) ? (first) + (count) : (int)(size);                \
        for (int i = (first); i < low; i += VW) AT(array, i - (first)) = VSPLAT(0);                        \
        if ((step) == 1 && high - low >= VW) {                                                             \
            for (int i = low; i + VW <= high; i += VW) AT(array, i - (first)) = vload(line, i);            \
            AT(array, high - VW - (first)) = vload(line, high - VW);                                       \
        } else                                                                                             \
            for (int i = low; i < high; ++i) (array)[i - (first)] = load(line, i * (int)(step));           \
        for (int i = high; i < (first) + (count); i += VW) AT(array, i - (first)) = VSPLAT(0);             \
    }
