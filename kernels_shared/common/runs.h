// Values that stay the same along runs of RUN elements of a flat tensor, such as a channel's along its plane; include after
// common/types.h. A vector lies in one run or, where RUN is no multiple of VW, in the ends of two (RUN is at least VW):
//
//   run        0        |        1        |       2
//   vectors  [....][....][....][....][....][....][....][.
//
//   RUN_OF(i)            the run of element i
//   run_values(a, b, i)  the vector at i of a value that is `a` in the run of i and `b` in the next
#define RUN_OF(i) ((i) / RUN)
#define RUN_LEFT(i) (RUN - (i) % RUN)  // elements from i to the end of its run

DEVICE vreal run_values(real here, real next, idx_t i) {
    const idx_t left = RUN_LEFT(i);
    vreal v;
    UNROLL for (int j = 0; j < VW; ++j) LANE(v, j) = j < left ? here : next;
    return v;
}
