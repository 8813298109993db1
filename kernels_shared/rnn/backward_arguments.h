// Arguments of the kernels that make one step of a layer backwards; the same for every schedule. After rnn/arguments.h.
//
//   h, dy     outputs of the layer and their gradient: T where H_STORED or DY_STORED is defined, else real
//   carry     [direction][sequence][hidden]: what cell_backward carries on
//   packed    R: of the type PACKED_T, which whoever includes this defines

#ifdef H_STORED
typedef T h_t;
#define H_GET(p, i) SGET(p, i)
#else
typedef real h_t;
#define H_GET(p, i) VGET(p, i)
#endif
#ifdef DY_STORED
typedef T dy_t;
#define DY_GET(p, i) SGET(p, i)
#else
typedef real dy_t;
#define DY_GET(p, i) VGET(p, i)
#endif
#ifdef HAS_DHY
#define DHY_ARG , TENSOR(const T, dhy)
#define DHY_BIND BIND(const T, dhy);
#else
#define DHY_ARG
#define DHY_BIND
#endif
#ifdef HAS_DCY
#define DCY_ARG , TENSOR(const T, dcy)
#define DCY_BIND BIND(const T, dcy);
#else
#define DCY_ARG
#define DCY_BIND
#endif
#ifdef HAS_DHX
#define DHX_ARG , TENSOR(T, dhx)
#define DHX_BIND BIND(T, dhx);
#else
#define DHX_ARG
#define DHX_BIND
#endif
#ifdef HAS_DCX
#define DCX_ARG , TENSOR(T, dcx)
#define DCX_BIND BIND(T, dcx);
#else
#define DCX_ARG
#define DCX_BIND
#endif

#ifdef FINISH
#define BACKWARD_TENSORS TENSOR(const PACKED_T, packed), TENSOR(real, gates), TENSOR(real, carry) DHX_ARG DCX_ARG
#define BACKWARD_BIND                                                                                      \
    BIND(const PACKED_T, packed);                                                                              \
    BIND(real, gates);                                                                                     \
    BIND(real, carry);                                                                                     \
    DHX_BIND DCX_BIND
#else
#define BACKWARD_TENSORS                                                                                   \
    TENSOR(const PACKED_T, packed), TENSOR(real, gates), TENSOR(real, carry), TENSOR(const real, cells),       \
        TENSOR(const h_t, h), TENSOR(const real, h0), TENSOR(const real, c0), TENSOR(const dy_t, dy) DHY_ARG DCY_ARG
#define BACKWARD_BIND                                                                                      \
    BIND(const PACKED_T, packed);                                                                              \
    BIND(real, gates);                                                                                     \
    BIND(real, carry);                                                                                     \
    BIND(const real, cells);                                                                               \
    BIND(const h_t, h);                                                                                    \
    BIND(const real, h0);                                                                                  \
    BIND(const real, c0);                                                                                  \
    BIND(const dy_t, dy);                                                                                  \
    DHY_BIND DCY_BIND
#endif
#define BACKWARD_NUMBERS                                                                                   \
    const i64 gates_start, const i64 cells_start, const i64 h_start, const i64 state_start, const int hidden, \
        const int batch, const int panels

// The gradients that R's rows got lie side by side, but for a GRU's: those of the new memory are in slot 3.
#ifdef CELL_GRU
#define R_JUMP (2 * hidden)
#define R_SKIP hidden
#else
#define R_JUMP (GATES * hidden)
#define R_SKIP 0
#endif
