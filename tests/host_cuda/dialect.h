// The dialect's header for CUDA (kernels_cuda/dialect.h) as C++ of the host: a work-group's work-items are fibers, which go on
// in turn at barriers. For tests of kernels on machines without a GPU.

#include <cmath>
#include <csetjmp>
#include <cstring>
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

// Contexts start fibers, and jumps go between them: swapcontext() asks the kernel for the signals' mask each time.
struct Fiber {
    jmp_buf place;
    ucontext_t start;
    bool started, ended;
};
static std::vector<Fiber> fibers;
static jmp_buf scheduler;
static int current;
static void (*body)(void **args);  // of each work-item
static void **body_args;

static void give_way() {
    const Place3 mine = threadIdx;
    if (_setjmp(fibers[current].place) == 0) _longjmp(scheduler, 1);
    threadIdx = mine;
}

static void go_on(Fiber &one) {
    if (_setjmp(scheduler) != 0) return;
    if (one.started) _longjmp(one.place, 1);
    one.started = true;
    setcontext(&one.start);
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

static void run_fiber() {  // of each group in turn
    for (;;) {
        body(body_args);
        fibers[current].ended = true;
        give_way();
    }
}

#define STACK_BYTES (1 << 16)
static void make_fibers(int items, char *stacks) {
    fibers.assign(items, {});
    for (int i = 0; i < items; ++i) {
        ucontext_t &start = fibers[i].start;
        getcontext(&start);
        start.uc_stack.ss_sp = stacks + (size_t)i * STACK_BYTES;
        start.uc_stack.ss_size = STACK_BYTES;
        start.uc_link = nullptr;
        makecontext(&start, run_fiber, 0);
    }
}

static void run_group(int items) {
    for (Fiber &one : fibers) one.ended = false;
    for (bool any = true; any;) {
        any = false;
        for (current = 0; current < items; ++current) {
            if (fibers[current].ended) continue;
            any = true;
            threadIdx.x = current;
            go_on(fibers[current]);
        }
    }
}

template <class... A, size_t... I>
static void launch_with(void (*kernel)(A...), void **args, std::index_sequence<I...>, int groups, int items, int local_bytes) {
    blockDim = {items, 1, 1};
    gridDim = {groups, 1, 1};
    static void (*called)(A...);
    called = kernel;
    body = [](void **of) { called(*(std::remove_const_t<A> *)of[I]...); };
    body_args = args;
    char *const stacks = new char[(size_t)items * STACK_BYTES];
    make_fibers(items, stacks);
    for (int group = 0; group < groups; ++group) {
        blockIdx = {group, 0, 0};
        memset(tiles, 0x7f, sizeof tiles);
        run_group(items);
        const unsigned char *past = tiles + local_bytes;  // not the launch's local memory
        if (past != std::end(tiles) && (*past != 0x7f || memcmp(past, past + 1, std::end(tiles) - past - 1) != 0)) __builtin_trap();
    }
    delete[] stacks;
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
#define UNROLL_AT_MOST(n)
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
    const u32 sign = (u32)(h & 0x8000) << 16, size = h & 0x7fff;
    if (size < 0x400) return as_float(sign | as_uint(size * 0x1p-24f));  // 0, and less than the least normal number
    return as_float(sign | (size << 13) + ((size < 0x7c00 ? 112u : 224u) << 23));
}
#define f16_load(p, i) f16_to_float((p)[i])
static unsigned short f16_from_float(float v) {
    const u32 sign = as_uint(v) >> 16 & 0x8000, size = as_uint(v) & 0x7fffffff;
    if (std::isnan(v)) return 0x7e00;
    if (std::fabs(v) >= 65520) return sign | 0x7c00;
    if (std::fabs(v) < 0x1p-14f) return sign | (u32)std::nearbyint(std::fabs(v) * 0x1p24f);
    return sign | (size + 0xfff + (size >> 13 & 1) >> 13) - (112u << 10);
}
#define f16_store(p, i, v) ((p)[i] = f16_from_float(v))
