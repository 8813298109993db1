// Elements of local memory (common/mma.h) of numbers that text computes (conv/prologue.h). After common/types.h and common/mma.h.

struct alignas(16) Chunk {
    E v[VE];
};

// of a number that the storage type holds
DEVICE E element_of(float v) {
#ifdef DTYPE_FLOAT
    return __uint_as_float(tf32_bits(v));
#else
    T stored[1];
    STORE(stored, 0, v);
    return *(const E *)stored;
#endif
}
