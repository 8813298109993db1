// ATOMIC_ADD(p, v): *p += v in one piece, for float and double. In what order several such sums happen is anybody's guess.
DEVICE void ATOMIC_ADD(real *p, real v) { atomicAdd(p, v); }
