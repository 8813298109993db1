// kernels_cuda/common/wgmma.h by the definitions of PTX (wgmma, mbarrier, bar): products are made as late as they may be, when they
// are waited for, and until then their sums are NaN: what is read too early, or overwritten while products need it, shows.
template <int N> struct columns {};
#define IN_PANELS(bytes) ((u64)((bytes) >> 4))
DEVICE u64 panels_of(u32 at, u32 apart) {
    return IN_PANELS(at & 0x3ffff) | IN_PANELS(apart) << 16 | IN_PANELS(1024) << 32 | (u64)1 << 62;
}
DEVICE u32 in_panel(int row, int chunk) { return row * 128 + (chunk ^ row % 8) * 16; }

struct Product {
    int n, left_turned, turned, adds, group;
    float *sums;
    std::vector<float> kept;
    const u32 *held;  // words of the left operand, or null: it lies at `a`
    u64 a, b;
};
static std::vector<Product> products[1024];  // of each work-item
static int product_groups[1024];
static const u32 *held_by[1024];

// Element (row along M or N, k) of a matrix in local memory: bits 0-13 its start, 16-29 and 32-45 the offsets of the leading and
// the other dimension, in 16 bytes, 62-63 the swizzle (1: 128 bytes), which exchanges chunks by address bits 7-9
#ifdef DTYPE_FLOAT  // of which the hardware reads what TF32 holds
#define DEPTH 8
#else
#define DEPTH 16
#endif
static float in_local(u64 matrix, int turned, int row, int k) {
    if (matrix >> 62 != 1 || (matrix >> 49 & 7) != 0) __builtin_trap();
    const u32 start = (matrix & 0x3fff) << 4, leading = (matrix >> 16 & 0x3fff) << 4, stride = (matrix >> 32 & 0x3fff) << 4;
#ifdef DTYPE_FLOAT
    if (turned) __builtin_trap();
    const u32 place = start + row / 8 * stride + row % 8 * 128 + k * 4;
    u32 word;
    memcpy(&word, tiles + (place ^ (place >> 7 & 7) << 4), 4);
    return __uint_as_float(word & 0xffffe000u);
#else
    const u32 at = turned ? start + row / 64 * leading + row % 64 * 2 + k / 8 * stride + k % 8 * 128
                          : start + row / 8 * stride + row % 8 * 128 + k * 2;
    unsigned short bits;
    memcpy(&bits, tiles + (at ^ (at >> 7 & 7) << 4), 2);
    return element(bits, 0);
#endif
}
static void make(Product &one) {
    const int warp = threadIdx.x / 32 % 4, lane = LANE_OF;
    held_by[threadIdx.x] = one.held;
    sub_group_waits();
    std::vector<float> left(2 * DEPTH), found(one.n / 2);
    for (int half = 0; half < 2; ++half) {
        for (int k = 0; k < DEPTH; ++k) {
            const int row = lane / 4 + 8 * half;
            const u32 *of = one.held ? held_by[threadIdx.x / 32 * 32 + row % 8 * 4 + k % 8 / 2] : nullptr;
            left[half * DEPTH + k] = of ? element(of[half + 2 * (k / 8)], k % 2) : in_local(one.a, one.left_turned, warp * 16 + row, k);
        }
    }
    for (int i = 0; i < one.n / 2; ++i) {
        const int column = i / 4 * 8 + lane % 4 * 2 + i % 2, half = i / 2 % 2;
        float sum = one.adds ? one.kept[i] : 0.0f;
        for (int k = 0; k < DEPTH; ++k) sum += left[half * DEPTH + k] * in_local(one.b, one.turned, column, k);
        found[i] = sum;
    }
    sub_group_waits();
    // products of the same sums follow each other
    bool last = true;
    for (Product &later : products[threadIdx.x]) {
        if (&later > &one && later.sums == one.sums && last) {
            later.kept = found;
            last = false;
        }
    }
    if (last) memcpy(one.sums, found.data(), 4 * found.size());
}
static void issue(int n, int left_turned, int turned, int adds, float *sums, const u32 *held, u64 a, u64 b) {
    Product one{n, left_turned, turned, adds, product_groups[threadIdx.x], sums, std::vector<float>(sums, sums + n / 2), held, a, b};
    products[threadIdx.x].push_back(one);
    for (int i = 0; i < n / 2; ++i) sums[i] = NAN;
}
template <int LEFT_TURNED, int TURNED, int N> DEVICE void multiply_first(columns<N>, float *sums, u64 a, u64 b) {
    issue(N, LEFT_TURNED, TURNED, 0, sums, nullptr, a, b);
}
template <int LEFT_TURNED, int TURNED, int N> DEVICE void multiply_local(columns<N>, float *sums, u64 a, u64 b) {
    issue(N, LEFT_TURNED, TURNED, 1, sums, nullptr, a, b);
}
template <int LEFT_TURNED, int TURNED, int N> DEVICE void multiply_after(columns<N>, float *sums, u64 a, u64 b, int adds) {
    issue(N, LEFT_TURNED, TURNED, adds, sums, nullptr, a, b);
}
template <int TURNED, int N> DEVICE void multiply_held(columns<N>, float *sums, const u32 *a, u64 b) {
    issue(N, 0, TURNED, 1, sums, a, 0, b);
}
DEVICE void products_begin() {}
DEVICE void products_issued() { ++product_groups[threadIdx.x]; }
template <int PENDING> DEVICE void products_wait() {
    std::vector<Product> &mine = products[threadIdx.x];
    sub_group_waits();
    size_t done = 0;
    while (done < mine.size() && mine[done].group < product_groups[threadIdx.x] - PENDING) make(mine[done++]);
    mine.erase(mine.begin(), mine.begin() + done);
}
template <int MANY> DEVICE void sums_stay(float *sums) {}
template <int MANY> DEVICE void words_stay(u32 *words) {}
DEVICE void local_written() {}

struct BarrierPhase {
    int expected, pending, phase;
};
static std::vector<std::pair<u32, BarrierPhase>> phases;
static BarrierPhase &phase_at(u32 at) {
    for (auto &one : phases) {
        if (one.first == at) return one.second;
    }
    __builtin_trap();
}
DEVICE void barrier_start(u32 at, int count) {
    for (auto &one : phases) {
        if (one.first == at) {
            one.second = {count, count, 0};
            return;
        }
    }
    phases.push_back({at, {count, count, 0}});
}
DEVICE void barrier_arrive(u32 at) {
    BarrierPhase &one = phase_at(at);
    if (--one.pending == 0) {
        one.pending = one.expected;
        ++one.phase;
    }
}
DEVICE bool barrier_passed(u32 at, int odd) { return phase_at(at).phase % 2 != odd; }
#define MOST_TURNS 50000  // of all work-items, until one that waits is taken to wait for ever
DEVICE void barrier_wait(u32 at, int odd) {
    for (int turns = 0; !barrier_passed(at, odd); ++turns) {
        if (turns == MOST_TURNS) __builtin_trap();
        give_way();
    }
}
static Meeting numbered[16];
DEVICE void turn_wait(int number, int count) { numbered[number].wait(count); }
DEVICE void turn_give(int number, int count) { numbered[number].arrive(count); }
template <int MANY> DEVICE void registers_give() {}
template <int MANY> DEVICE void registers_take() {}
