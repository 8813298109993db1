// The matrices of a product: each holds T where A_STORED, B_STORED or C_STORED is defined, else real. After common/types.h.
//
//   a_t, b_t, c_t      element types        A_GET(p, i), B_GET(p, i), C_GET(p, i)   real from p[i]
//   out_t              what tiles are stored as: parts of sums are real            C_PUT(p, i, v)

#ifdef A_STORED
typedef T a_t;
#define A_GET(p, i) LOAD(p, i)
#else
typedef real a_t;
#define A_GET(p, i) ((p)[i])
#endif
#ifdef B_STORED
typedef T b_t;
#define B_GET(p, i) LOAD(p, i)
#else
typedef real b_t;
#define B_GET(p, i) ((p)[i])
#endif
#ifdef C_STORED
typedef T c_t;
#define C_GET(p, i) LOAD(p, i)
#define C_PUT(p, i, v) STORE(p, i, v)
#else
typedef real c_t;
#define C_GET(p, i) ((p)[i])
#define C_PUT(p, i, v) ((p)[i] = (v))
#endif
#if defined(SPLITS) && SPLITS > 1
typedef real out_t;
#else
typedef c_t out_t;
#endif
