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
