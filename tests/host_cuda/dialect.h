// The dialect's header for CUDA (kernels_cuda/dialect.h) as C++ of the host: a work-group's work-items are fibers, which go on
// in turn at barriers. For tests of kernels on machines without a GPU.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>
#include <ucontext.h>

using std::exp;
using std::log;

struct Place3 {
    int x, y, z;
};
static Place3 threadIdx, blockIdx, blockDim, gridDim;
static unsigned char tiles[1 << 18];  // dynamic local memory

struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    bool ended;
};
static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static int current;
static std::function<void()> body;

static void give_way() {
    const Place3 mine = threadIdx;
    swapcontext(&fibers[current].context, &scheduler);
    threadIdx = mine;
}

// Of all work-items, or of the 32 of a sub-group
struct Meeting {
    int arrived = 0, round = 0;
    void arrive(int count) {
        if (++arrived == count) {
            arrived = 0;
            ++round;
        }
    }
    void wait(int count) {
        const int mine = round;
        arrive(count);
        while (round == mine) give_way();
    }
};
static Meeting of_group, of_sub_group[32];
static void __syncthreads() { of_group.wait(blockDim.x); }
static void sub_group_waits() { of_sub_group[threadIdx.x / 32].wait(32); }
static void __syncwarp() { sub_group_waits(); }

static void run_fiber() {
    body();
    fibers[current].ended = true;
    swapcontext(&fibers[current].context, &scheduler);
}

static void run_group(int items) {
    fibers.assign(items, {});
    for (int i = 0; i < items; ++i) {
        Fiber &one = fibers[i];
        one.stack.resize(1 << 16);
        one.ended = false;
        getcontext(&one.context);
        one.context.uc_stack.ss_sp = one.stack.data();
        one.context.uc_stack.ss_size = one.stack.size();
        one.context.uc_link = nullptr;
        makecontext(&one.context, run_fiber, 0);
    }
    for (bool any = true; any;) {
        any = false;
        for (current = 0; current < items; ++current) {
            if (fibers[current].ended) continue;
            any = true;
            threadIdx.x = current;
            swapcontext(&scheduler, &fibers[current].context);
        }
    }
}

template <class... A, size_t... I>
static void launch_with(void (*kernel)(A...), void **args, std::index_sequence<I...>, int groups, int items, int local_bytes) {
    blockDim = {items, 1, 1};
    gridDim = {groups, 1, 1};
    body = [=] { kernel(*(std::remove_const_t<A> *)args[I]...); };
    for (int group = 0; group < groups; ++group) {
        blockIdx = {group, 0, 0};
        memset(tiles, 0x7f, sizeof tiles);
        run_group(items);
        for (const unsigned char *past = tiles + local_bytes; past != std::end(tiles); ++past) {
            if (*past != 0x7f) __builtin_trap();  // not the launch's local memory
        }
    }
}
template <class... A> static void launch_kernel(void (*kernel)(A...), void **args, int groups, int items, int local_bytes) {
    launch_with(kernel, args, std::index_sequence_for<A...>(), groups, items, local_bytes);
}

#define PD_CUDA 1
#define __global__
#define __shared__
#define __align__(n)
#define __launch_bounds__(...)
#define KERNEL extern "C" void
#define DEVICE static inline
#define NOINLINE static
#define GLOBAL
#define LOCAL static
#define LOCAL_ARG
#define CONSTANT static const
#define RESTRICT
#define WG_SIZE(x, y, z)
#define WG_RESIDENT(size, groups)
#define LID(d) (threadIdx.x)
#define GRP(d) (blockIdx.x)
#define LSZ(d) (blockDim.x)
#define NGRP(d) (gridDim.x)
#define BARRIER() __syncthreads()
#define GLOBAL_BARRIER() __syncthreads()
#define UNROLL
#define GRID_WAIT()
#define ATOMIC_TAKE(p, count) ((*(p) += (count)) - (count))
#define TENSOR(type, name) type *name
#define BIND(type, name)
#define TENSOR_RESTRICT(type, name) type *name
#define BIND_RESTRICT(type, name)

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned int uint;
typedef unsigned short f16_t;
typedef unsigned short bf16_t;

static float __uint_as_float(u32 bits) {
    float v;
    memcpy(&v, &bits, 4);
    return v;
}
static u32 __float_as_uint(float v) {
    u32 bits;
    memcpy(&bits, &v, 4);
    return bits;
}
DEVICE float as_float(u32 bits) { return __uint_as_float(bits); }
DEVICE u32 as_uint(float v) { return __float_as_uint(v); }
#define INFINITY_OF(real) ((real)__builtin_inff())
#define NAN_OF(real) ((real)__builtin_nanf(""))
#define IS_NAN(v) ((v) != (v))
template <class A> static A PICK(bool mask, A yes, A no) { return mask ? yes : no; }
static float rsqrt(float v) { return 1 / std::sqrt(v); }
#define PD_CAT_(a, b) a##b
#define PD_CAT(a, b) PD_CAT_(a, b)

// 11 significant bits; a product with a power of two is exact
static float f16_to_float(unsigned short h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                                      : std::ldexp((float)(exponent ? fraction + 1024 : fraction), (exponent ? exponent : 1) - 25);
    return h & 0x8000 ? -size : size;
}
#define f16_load(p, i) f16_to_float((p)[i])
static unsigned short f16_from_float(float v) {
    const int sign = std::signbit(v) ? 0x8000 : 0;
    if (std::isnan(v)) return 0x7e00;
    if (std::fabs(v) >= 65520) return sign | 0x7c00;
    const int exponent = v == 0 ? -14 : std::max(std::ilogb(v), -14);
    return sign | ((exponent + 14) << 10) + (int)std::nearbyint(std::ldexp(std::fabs(v), 10 - exponent));
}
#define f16_store(p, i, v) ((p)[i] = f16_from_float(v))
