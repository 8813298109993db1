// Elements of local memory (common/mma.h) of numbers that text computes (conv/prologue.h). After common/types.h and common/mma.h.

struct alignas(16) Elements {
    E v[VE];
};

// a number as the storage type holds it
DEVICE E stored_of(float v) {
    T stored[1];
    STORE(stored, 0, v);
    return stored[0];
}

// and as tensor cores want it
DEVICE E element_of(float v) {
#ifdef DTYPE_FLOAT
    return __uint_as_float(tf32_bits(v));
#else
    return stored_of(v);
#endif
}
