// What hiprtc declares by itself, for clang without ROCm's headers: libclc has these functions under the same C++ names.
#define PD_DECLARED __attribute__((device, const))
#define PD_OF_REALS(real)                 \
    PD_DECLARED real exp(real);           \
    PD_DECLARED real exp2(real);          \
    PD_DECLARED real expm1(real);         \
    PD_DECLARED real log(real);           \
    PD_DECLARED real log2(real);          \
    PD_DECLARED real log1p(real);         \
    PD_DECLARED real sin(real);           \
    PD_DECLARED real cos(real);           \
    PD_DECLARED real tan(real);           \
    PD_DECLARED real tanh(real);          \
    PD_DECLARED real erf(real);           \
    PD_DECLARED real ceil(real);          \
    PD_DECLARED real floor(real);         \
    PD_DECLARED real rint(real);          \
    PD_DECLARED real trunc(real);         \
    PD_DECLARED real fmod(real, real);    \
    PD_DECLARED real pow(real, real);     \
    PD_DECLARED real sqrt(real);          \
    PD_DECLARED real rsqrt(real);         \
    PD_DECLARED real fabs(real);          \
    PD_DECLARED real fma(real, real, real); \
    PD_DECLARED real fmax(real, real);    \
    PD_DECLARED real fmin(real, real);
PD_OF_REALS(float)
PD_OF_REALS(double)
struct __attribute__((aligned(16))) int4 {
    int x, y, z, w;
};
struct __attribute__((aligned(8))) uint2 {
    unsigned int x, y;
};
struct __attribute__((aligned(16))) uint4 {
    unsigned int x, y, z, w;
};
