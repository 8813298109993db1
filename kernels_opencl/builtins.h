// What kernels use of OpenCL C's types, constants and functions, for a compiler whose own header is left out: PoCL 3 spends
// 65 of the 76 ms that the smallest program takes on a megabyte of declarations. A name that is missing here is an error.
// Functions are declared for all types that they have, so that no argument is converted to another one's.

// The compiler may have defined the same before: it would say so after every program.
#pragma clang diagnostic ignored "-Wmacro-redefined"
#pragma clang diagnostic ignored "-Wtypedef-redefinition"
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef __SIZE_TYPE__ size_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define PD_VECTOR(type, n) typedef type type##n __attribute__((ext_vector_type(n)))
#define PD_VECTORS(type) \
    PD_VECTOR(type, 2);  \
    PD_VECTOR(type, 3);  \
    PD_VECTOR(type, 4);  \
    PD_VECTOR(type, 8);  \
    PD_VECTOR(type, 16)
PD_VECTORS(char);
PD_VECTORS(uchar);
PD_VECTORS(short);
PD_VECTORS(ushort);
PD_VECTORS(int);
PD_VECTORS(uint);
PD_VECTORS(long);
PD_VECTORS(ulong);
PD_VECTORS(float);
PD_VECTORS(double);

#define as_int(v) __builtin_astype((v), int)
#define as_int2(v) __builtin_astype((v), int2)
#define as_int4(v) __builtin_astype((v), int4)
#define as_int8(v) __builtin_astype((v), int8)
#define as_int16(v) __builtin_astype((v), int16)
#define as_uint(v) __builtin_astype((v), uint)
#define as_uint2(v) __builtin_astype((v), uint2)
#define as_uint4(v) __builtin_astype((v), uint4)
#define as_uint8(v) __builtin_astype((v), uint8)
#define as_uint16(v) __builtin_astype((v), uint16)
#define as_ulong(v) __builtin_astype((v), ulong)
#define as_float(v) __builtin_astype((v), float)
#define as_float2(v) __builtin_astype((v), float2)
#define as_float4(v) __builtin_astype((v), float4)
#define as_float8(v) __builtin_astype((v), float8)
#define as_float16(v) __builtin_astype((v), float16)
#define as_double(v) __builtin_astype((v), double)

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2

#define PD_OVERLOADED __attribute__((overloadable))
#define PD_CONST PD_OVERLOADED __attribute__((const))
#define PD_PURE PD_OVERLOADED __attribute__((pure))

PD_CONST size_t get_local_id(uint);
PD_CONST size_t get_local_size(uint);
PD_CONST size_t get_group_id(uint);
PD_CONST size_t get_num_groups(uint);
PD_CONST size_t get_global_id(uint);
PD_CONST size_t get_global_size(uint);
PD_OVERLOADED __attribute__((convergent)) void barrier(uint);
PD_OVERLOADED void mem_fence(uint);

// for every type and size of vector
#define PD_EACH_REAL(EACH) \
    EACH(float)            \
    EACH(float2)           \
    EACH(float3)           \
    EACH(float4)           \
    EACH(float8)           \
    EACH(float16)          \
    EACH(double)           \
    EACH(double2)          \
    EACH(double3)          \
    EACH(double4)          \
    EACH(double8)          \
    EACH(double16)
#define PD_OF_REALS(real)                   \
    PD_CONST real exp(real);                \
    PD_CONST real expm1(real);              \
    PD_CONST real log(real);                \
    PD_CONST real log2(real);               \
    PD_CONST real log1p(real);              \
    PD_CONST real sin(real);                \
    PD_CONST real cos(real);                \
    PD_CONST real tan(real);                \
    PD_CONST real tanh(real);               \
    PD_CONST real erf(real);                \
    PD_CONST real ceil(real);               \
    PD_CONST real floor(real);              \
    PD_CONST real rint(real);               \
    PD_CONST real trunc(real);              \
    PD_CONST real fmod(real, real);         \
    PD_CONST real pow(real, real);          \
    PD_CONST real sqrt(real);               \
    PD_CONST real rsqrt(real);              \
    PD_CONST real fabs(real);               \
    PD_CONST real fma(real, real, real);    \
    PD_CONST real fmax(real, real);         \
    PD_CONST real fmin(real, real);
PD_EACH_REAL(PD_OF_REALS)

// of vectors: whether the sign of any number, or of all, is set
#define PD_OF_WHOLES(type)      \
    PD_CONST int any(type);     \
    PD_CONST int any(type##2);  \
    PD_CONST int any(type##3);  \
    PD_CONST int any(type##4);  \
    PD_CONST int any(type##8);  \
    PD_CONST int any(type##16); \
    PD_CONST int all(type);     \
    PD_CONST int all(type##2);  \
    PD_CONST int all(type##3);  \
    PD_CONST int all(type##4);  \
    PD_CONST int all(type##8);  \
    PD_CONST int all(type##16);
PD_OF_WHOLES(char)
PD_OF_WHOLES(short)
PD_OF_WHOLES(int)
PD_OF_WHOLES(long)

#define PD_HALVES(space)                                                          \
    PD_PURE float vload_half(size_t, const space half *);                         \
    PD_PURE float2 vloada_half2(size_t, const space half *);                      \
    PD_PURE float4 vloada_half4(size_t, const space half *);                      \
    PD_PURE float8 vloada_half8(size_t, const space half *);                      \
    PD_PURE float16 vloada_half16(size_t, const space half *);                    \
    PD_OVERLOADED void vstore_half_rte(float, size_t, space half *);              \
    PD_OVERLOADED void vstore_half_rte(double, size_t, space half *);             \
    PD_OVERLOADED void vstorea_half2_rte(float2, size_t, space half *);           \
    PD_OVERLOADED void vstorea_half4_rte(float4, size_t, space half *);           \
    PD_OVERLOADED void vstorea_half8_rte(float8, size_t, space half *);           \
    PD_OVERLOADED void vstorea_half16_rte(float16, size_t, space half *);         \
    PD_OVERLOADED void vstorea_half2_rte(double2, size_t, space half *);          \
    PD_OVERLOADED void vstorea_half4_rte(double4, size_t, space half *);          \
    PD_OVERLOADED void vstorea_half8_rte(double8, size_t, space half *);          \
    PD_OVERLOADED void vstorea_half16_rte(double16, size_t, space half *);
PD_HALVES(__global)
PD_HALVES(__local)
PD_HALVES(__private)

#define PD_ATOMICS(type)                                                      \
    PD_OVERLOADED type atomic_inc(volatile __global type *);                  \
    PD_OVERLOADED type atomic_inc(volatile __local type *);                   \
    PD_OVERLOADED type atomic_add(volatile __global type *, type);            \
    PD_OVERLOADED type atomic_add(volatile __local type *, type);             \
    PD_OVERLOADED type atomic_cmpxchg(volatile __global type *, type, type);  \
    PD_OVERLOADED type atomic_cmpxchg(volatile __local type *, type, type);
PD_ATOMICS(int)
PD_ATOMICS(uint)
PD_OVERLOADED long atom_cmpxchg(volatile __global long *, long, long);
PD_OVERLOADED ulong atom_cmpxchg(volatile __global ulong *, ulong, ulong);
