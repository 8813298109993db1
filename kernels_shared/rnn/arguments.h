// Arguments of the kernels that make one step of a layer, in each direction; the same for every schedule.
//
//   rows, first             rows of the step, and its first row among all rows
//   before_rows, before     how many of them continue another step, and that step's first row; the others begin
//   after_rows, after       how many are continued, and where; the others end
// Of two directions the second one's numbers have the suffix _2.

#define STEP_NUMBERS(suffix)                                                                               \
    const int rows##suffix, const int first##suffix, const int before_rows##suffix, const int before##suffix, \
        const int after_rows##suffix, const int after##suffix
#define PICK_STEP(d)                                                                                       \
    const int rows = d ? rows_2 : rows_1, first = d ? first_2 : first_1;                                   \
    const int before_rows = d ? before_rows_2 : before_rows_1, before = d ? before_2 : before_1;           \
    const int after_rows = d ? after_rows_2 : after_rows_1, after = d ? after_2 : after_1;

#ifdef Y_ROUNDED
#define Y_ARG , TENSOR(T, y)
#define Y_BIND BIND(T, y);
#else
#define Y_ARG
#define Y_BIND
#endif
#ifdef HAS_HY
#define HY_ARG , TENSOR(T, hy)
#define HY_BIND BIND(T, hy);
#else
#define HY_ARG
#define HY_BIND
#endif
#ifdef HAS_CY
#define CY_ARG , TENSOR(T, cy)
#define CY_BIND BIND(T, cy);
#else
#define CY_ARG
#define CY_BIND
#endif
