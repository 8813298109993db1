// y[o], indices[o] = the K-th smallest of the COUNTED numbers of row o, STEP apart in x, and where the first of its equals is.
//
// A work-group for each row finds the bits of the number from the highest on: of those numbers that begin with the bits known so far,
// as many as go on with 0 are counted; if K is among them, the bit is 0, else 1, and they are passed over. Keys are the bits of
// numbers, turned so that they are in the order of the numbers; NaN comes last. Nothing is moved, and the result does not depend on
// the order of work-items.
#include "items/items.h"

#ifdef DTYPE_DOUBLE
typedef u64 word;
#define BITS 64
#else
typedef u32 word;
#define BITS 32
#endif
typedef union {
    real number;
    word bits;
} key_of;

DEVICE word sort_key(real v) {
    key_of k;
    k.number = v;
    const word top = (word)1 << (BITS - 1);
    return v != v ? ~(word)0 : k.bits & top ? ~k.bits : k.bits | top;
}

KERNEL WG_SIZE(ITEMS, 1, 1)
kth_value(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL int counts[ITEMS];
    BIND_PARAMETERS;
    const int lid = LID(0);
    const i64 o = GRP(0), from = AT_x(o);
    word known = 0, mask = 0;
    int k = K;
    for (int bit = BITS - 1; bit >= 0; --bit) {
        const word one = (word)1 << bit;
        int zeros = 0;
        for (int r = lid; r < COUNTED; r += ITEMS) {
            const word key = sort_key(IN_AT(x, from + (i64)r * STEP));
            zeros += (key & mask) == known && !(key & one);
        }
        counts[lid] = zeros;
        BARRIER();
        for (int step = ITEMS / 2; step > 0; step /= 2) {
            if (lid < step) counts[lid] += counts[lid + step];
            BARRIER();
        }
        const int all = counts[0];
        BARRIER();
        mask |= one;
        if (k > all) {
            k -= all;
            known |= one;
        }
    }
    int place = COUNTED;
    for (int r = lid; r < COUNTED && place == COUNTED; r += ITEMS)
        if (sort_key(IN_AT(x, from + (i64)r * STEP)) == known) place = r;
    counts[lid] = place;
    BARRIER();
    for (int step = ITEMS / 2; step > 0; step /= 2) {
        if (lid < step && counts[lid + step] < counts[lid]) counts[lid] = counts[lid + step];
        BARRIER();
    }
    if (lid == 0) {
        OUT(y, o, IN_AT(x, from + (i64)counts[0] * STEP));
        indices[AT_indices(o)] = (ELEMENT(T_indices))counts[0];
    }
}
