// cuda::std and its neighbours: containers, limits, bits, algorithms, atomics of every scope.
#include <cuda/atomic>
#include <cuda/cmath>
#include <cuda/annotated_ptr>
#include <cuda/discard_memory>
#include <cuda/functional>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/stream_ref>
#include <cuda/std/algorithm>
#include <cuda/std/array>
#include <cuda/std/atomic>
#include <cuda/std/bit>
#include <cuda/std/cassert>
#include <cuda/std/chrono>
#include <cuda/std/cstring>
#include <cuda/std/memory>
#include <cuda/std/string_view>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/numeric>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda/std/variant>
#include <cuda/std/cstdint>

namespace std_ = cuda::std;

extern "C" __global__ void values(const float *in, double *out) {
    const float x = in[threadIdx.x * 2], y = in[threadIdx.x * 2 + 1];
    out += threadIdx.x * 24;
    std_::array<float, 4> a{x, y, x + y, x - y};
    const std_::span<const float> part(a.data() + 1, 3);
    float sum = 0;
    for (const float v : part)
        sum += v;
    out[0] = sum, out[1] = part.size() * 10 + a.size();
    const auto [smaller, larger] = std_::make_tuple(std_::min(x, y), std_::max(x, y));
    out[2] = smaller, out[3] = larger;
    std_::optional<float> positive;
    if (x > 0)
        positive = x;
    out[4] = positive.value_or(-1.0f), out[5] = positive.has_value();
    const std_::complex<float> z(x, y), square = z * z;
    out[6] = square.real(), out[7] = square.imag(), out[8] = std_::norm(z);
    const unsigned bits = std_::bit_cast<unsigned>(x);
    out[9] = std_::popcount(bits), out[10] = std_::countl_zero(bits >> 3), out[11] = std_::countr_zero(bits | 64u), out[12] = std_::rotl(bits, 7);
    out[13] = std_::clamp(x, -0.5f, 0.5f), out[14] = std_::accumulate(a.begin(), a.end(), 1.0f);
    std_::swap(a[0], a[3]);
    std_::pair<float, int> pair = std_::make_pair(a[0], 3);
    out[15] = pair.first * pair.second;
    const float sorted[5] = {-1.0f, -0.5f, 0.0f, 0.5f, 1.0f};
    out[16] = std_::lower_bound(sorted, sorted + 5, x) - sorted;
    out[17] = std_::abs(x) + std_::floor(y) + std_::sqrt(x * x) + std_::exp(0.0f);
    out[18] = std_::isnan(x / 0.0f * 0.0f) + 2 * std_::isfinite(x);
    std_::variant<int, float> either = y;
    out[19] = either.index() * 10 + *std_::get_if<1>(&either);
    out[20] = cuda::ceil_div(static_cast<int>(x * 100) + 200, 7) + 1000 * cuda::round_up(13, 8);
    out[21] = cuda::maximum<>{}(x, y) + std_::plus<float>{}(x, y);
    out[22] = std_::numeric_limits<float>::max() > 3e38f && std_::numeric_limits<int>::min() == -2147483647 - 1 && std_::numeric_limits<std_::uint8_t>::max() == 255;
    out[23] = std_::is_same_v<std_::conditional_t<std_::is_floating_point_v<float>, int, char>, int> + 2 * std_::is_trivially_copyable_v<float4> + 4 * std_::is_invocable_v<std_::plus<int>, int, int>;
}

// CUDA 12.8's built-in atomics: each operation once per thread, with different orders and scopes.
extern "C" __global__ void built_in_atomics(const int *in, int *out, double *sums, unsigned long long *wide) {
    const int v = in[blockIdx.x * blockDim.x + threadIdx.x];
    __shared__ int local;
    if (threadIdx.x == 0)
        __nv_atomic_store_n(&local, 0, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_BLOCK);
    __syncthreads();
    __nv_atomic_add(&local, v, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_CLUSTER);
    __nv_atomic_fetch_add(out, v, __NV_ATOMIC_SEQ_CST);
    __nv_atomic_fetch_max(out + 1, v, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_min(out + 2, v, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM);
    __nv_atomic_or(out + 3, 1 << (v & 31), __NV_ATOMIC_CONSUME, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_xor(out + 4, v, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_sub(out + 5, v, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_and(out + 6, ~v, __NV_ATOMIC_RELAXED);
    __nv_atomic_fetch_sub(sums, v * -0.5, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    unsigned long long seen = __nv_atomic_load_n(wide, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    const unsigned long long square = static_cast<unsigned long long>(v) * v << 20;
    while (seen < square && !__nv_atomic_compare_exchange_n(wide, &seen, square, true, __NV_ATOMIC_RELEASE, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE)) {
    }
    __syncthreads();
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    // Values of other types than numbers, and of 16 bits.
    __shared__ float2 pair;
    __shared__ unsigned short narrow;
    if (threadIdx.x == 0) {
        pair = make_float2(1, 2);
        narrow = 3;
        float2 next = make_float2(3, 4), old, seen_pair = make_float2(5, 6);
        __nv_atomic_exchange(&pair, &next, &old, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
        const bool is_changed = __nv_atomic_compare_exchange(&pair, &seen_pair, &old, false, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
        unsigned short three = 3;
        const bool is_narrow_changed = __nv_atomic_compare_exchange_n(&narrow, &three, 0xffff, false, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
        float2 now;
        __nv_atomic_load(&pair, &now, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_BLOCK);
        out[8] = old.x == 1 && old.y == 2 && seen_pair.x == 3 && !is_changed && now.y == 4 && is_narrow_changed && narrow == 0xffff;
        atomicAdd(out + 7, local);
    }
}

// Each atomic operation, once per thread; the results do not depend on the order.
extern "C" __global__ void atomics(const int *in, int *out, double *sums, unsigned long long *wide) {
    const int v = in[blockIdx.x * blockDim.x + threadIdx.x];
    __shared__ cuda::atomic<int, cuda::thread_scope_block> local;
    if (threadIdx.x == 0)
        local.store(0, std_::memory_order_relaxed);
    __syncthreads();
    local.fetch_add(v, std_::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_device>(out[0]).fetch_add(v);
    cuda::atomic_ref<int, cuda::thread_scope_device>(out[1]).fetch_max(v, std_::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_system>(out[2]).fetch_min(v, std_::memory_order_acq_rel);
    cuda::atomic_ref<int, cuda::thread_scope_device>(out[3]).fetch_or(1 << (v & 31));
    cuda::atomic_ref<int, cuda::thread_scope_device>(out[4]).fetch_xor(v);
    cuda::atomic_ref<int, cuda::thread_scope_device>(out[5]) -= v;
    ++cuda::atomic_ref<int, cuda::thread_scope_device>(out[6]);
    cuda::std::atomic_ref<double>(sums[0]).fetch_add(v * 0.5);
    // Largest square, by compare and exchange.
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> largest(*wide);
    unsigned long long seen = largest.load(std_::memory_order_relaxed);
    const unsigned long long square = static_cast<unsigned long long>(v) * v << 20;
    while (seen < square && !largest.compare_exchange_weak(seen, square, std_::memory_order_release, std_::memory_order_relaxed)) {
    }
    __syncthreads();
    cuda::atomic_thread_fence(std_::memory_order_seq_cst, cuda::thread_scope_device);
    if (threadIdx.x == 0)
        atomicAdd(out + 7, local.load());
}

// Every wave writes, counts the latch down and waits for the others before it reads. One lane of each at a time holds the semaphore.
extern "C" __global__ void waits(int *out, int *sums) {
    typedef cuda::latch<cuda::thread_scope_block> latch;
    typedef cuda::binary_semaphore<cuda::thread_scope_block> semaphore;
    __shared__ alignas(latch) char of_latch[sizeof(latch)];
    __shared__ alignas(semaphore) char of_semaphore[sizeof(semaphore)];
    __shared__ int held, passed;
    latch &all = *reinterpret_cast<latch *>(of_latch);
    semaphore &one = *reinterpret_cast<semaphore *>(of_semaphore);
    if (threadIdx.x == 0) {
        std_::construct_at(&all, static_cast<ptrdiff_t>(blockDim.x));
        std_::construct_at(&one, static_cast<ptrdiff_t>(1));
        held = passed = 0;
    }
    __syncthreads();
    cuda::annotated_ptr<int, cuda::access_property::persisting> place(out, cuda::access_property::persisting{});
    place[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
    __threadfence_block();
    all.count_down();
    all.wait();
    int sum = 0;
    for (unsigned i = 0; i < blockDim.x; i++)
        sum += place[i];
    sums[threadIdx.x] = all.try_wait() ? sum : -1;
    if (threadIdx.x % 64 == 0) {
        one.acquire();
        volatile int *holders = &held;
        const int before = *holders;
        *holders = before + 1;
        // Nobody else is in here.
        if (before != 0 || one.try_acquire())
            passed = 1000;
        *holders = 0;
        passed += 1;
        one.release();
    }
    __syncthreads();
    constexpr std_::chrono::milliseconds second = std_::chrono::seconds(1);
    constexpr std_::string_view text("four");
    static_assert(second.count() == 1000 && text.size() == 4, "constant expressions");
    if (threadIdx.x == 0) {
        out[blockDim.x] = passed;
        cuda::discard_memory(out, 0);
        assert(passed < 1000);
    }
}
