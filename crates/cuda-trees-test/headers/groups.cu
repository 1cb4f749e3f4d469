// Cooperative groups: tiles, coalesced threads, parts by label, the grid.
// Operators of vectors, as programs define them before they include the header: numbers become no vectors by themselves.
static __host__ __device__ inline uint3 operator-(uint3 a, unsigned b) { return make_uint3(a.x - b, a.y - b, a.z - b); }
static __host__ __device__ inline uint3 operator%(uint3 a, uint3 b) { return make_uint3(a.x % b.x, a.y % b.y, a.z % b.z); }
static __host__ __device__ inline int4 operator-(int4 a, int b) { return make_int4(a.x - b, a.y - b, a.z - b, a.w - b); }
[[maybe_unused]] static __device__ unsigned lanes_after(unsigned lane) { return warpSize - lane % warpSize - (make_uint3(1, 2, 3) - 1u).x; }
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

template <int Size> static __device__ void tile(int v, int *out) {
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<Size> t = cg::tiled_partition<Size>(block);
    out[0] = t.thread_rank(), out[1] = t.size(), out[2] = t.meta_group_rank(), out[3] = t.meta_group_size();
    out[4] = t.shfl(v, 1), out[5] = t.shfl_up(v, 1), out[6] = t.shfl_down(v, 2), out[7] = t.shfl_xor(v, Size / 2);
    out[8] = t.any(v % 16 == 3) * 2 + t.all(v % 16 != 3), out[9] = t.ballot(v & 1), out[10] = t.match_any(v % 3);
    out[11] = cg::reduce(t, v, cg::plus<int>()), out[12] = cg::reduce(t, v, cg::greater<int>()), out[13] = cg::inclusive_scan(t, v), out[14] = cg::exclusive_scan(t, v);
    t.sync();
}
extern "C" __global__ void tiles(const int *in, int *out) {
    const int i = threadIdx.y * blockDim.x + threadIdx.x;
    out += i * 60;
    tile<32>(in[i], out), tile<16>(in[i], out + 15), tile<4>(in[i], out + 30);
    // A tile of a tile, groups whose size is known at run time, and generic groups.
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto part = cg::tiled_partition<8>(warp);
    out += 45;
    out[0] = part.thread_rank(), out[1] = part.meta_group_rank(), out[2] = part.meta_group_size(), out[3] = part.shfl(in[i], 5);
    const cg::thread_group any = cg::tiled_partition(cg::this_thread_block(), in[128]);
    any.sync();
    out[4] = any.size(), out[5] = any.thread_rank();
    cg::thread_group block = cg::this_thread_block();
    cg::sync(block);
    out[6] = block.size(), out[7] = cg::thread_rank(block);
    out[8] = cg::this_thread_block().thread_index().y * 100 + cg::thread_block::dim_threads().x;
    auto token = cg::this_thread_block().barrier_arrive();
    out[9] = cg::invoke_one_broadcast(warp, [&] { return in[i] + 1; });
    cg::this_thread_block().barrier_wait(static_cast<decltype(token) &&>(token));
    out[10] = cg::this_thread().size();
    out[11] = cg::this_grid().thread_rank() == i && cg::this_grid().num_blocks() == 1;
}

// Threads that run together, and those with the same label.
extern "C" __global__ void together(const int *in, int *out, int *counter) {
    const int i = threadIdx.x, v = in[i];
    out += i * 20;
    if (v % 3 != 0) {
        const cg::coalesced_group active = cg::coalesced_threads();
        out[0] = active.size(), out[1] = active.thread_rank();
        out[2] = active.shfl(v, 0), out[3] = active.shfl_up(v, 1), out[4] = active.shfl_down(v, 1);
        out[5] = active.ballot(v & 1), out[6] = active.any(v == 5) * 2 + active.all(v > 0);
        out[7] = cg::reduce(active, v, cg::plus<int>()), out[8] = cg::inclusive_scan(active, v);
        // One atomic operation for all.
        int first = 0;
        if (active.thread_rank() == 0)
            first = atomicAdd(counter, active.size());
        out[9] = active.shfl(first, 0) + active.thread_rank();
        const auto half = cg::tiled_partition(active, 4);
        out[10] = half.size(), out[11] = half.thread_rank(), out[12] = half.meta_group_rank();
    }
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto equal = cg::labeled_partition(warp, v % 5);
    out[13] = equal.size(), out[14] = equal.thread_rank(), out[15] = cg::reduce(equal, v, cg::less<int>()), out[16] = equal.meta_group_size();
    const auto odd = cg::binary_partition(warp, v & 1);
    out[17] = odd.size(), out[18] = odd.meta_group_rank(), out[19] = odd.shfl(v, odd.size() - 1);
}

// The blocks wait for each other; each adds what the others wrote.
extern "C" __global__ void whole_grid(const int *in, int *parts, int *out) {
    __shared__ int local[64];
    const cg::thread_block block = cg::this_thread_block();
    const cg::grid_group grid = cg::this_grid();
    cg::memcpy_async(block, local, in + blockIdx.x * 64, sizeof(local));
    cg::wait(block);
    const auto warp = cg::tiled_partition<32>(block);
    const int sum = cg::reduce(warp, local[threadIdx.x ^ 63], cg::plus<int>());
    if (warp.thread_rank() == 0)
        parts[blockIdx.x * 2 + warp.meta_group_rank()] = sum;
    grid.sync();
    int total = 0;
    for (unsigned i = 0; i < gridDim.x * 2; i++)
        total += parts[i];
    out[grid.thread_rank()] = total + (grid.is_valid() && grid.size() == gridDim.x * blockDim.x ? 0 : 1000000);
}

// Tiles of several warps, which exchange through shared memory; and their warps.
template <int Size> static __device__ void wide_tile(int v, int *out) {
    const auto t = cg::tiled_partition<Size>(cg::this_thread_block());
    out[0] = t.thread_rank(), out[1] = t.size(), out[2] = t.meta_group_rank(), out[3] = t.meta_group_size(), out[4] = t.shfl(v, Size / 2 + 5);
    out[5] = t.any(v % 16 == 3) * 2 + t.all(v % 64 != 3), out[6] = cg::reduce(t, v, cg::plus<int>()), out[7] = cg::reduce(t, v, cg::greater<int>());
    out[8] = cg::inclusive_scan(t, v), out[9] = cg::exclusive_scan(t, v);
    t.sync();
    const auto warp = cg::tiled_partition<32>(t);
    out[10] = warp.meta_group_rank(), out[11] = cg::reduce(warp, v, cg::plus<int>());
}
extern "C" __global__ void __launch_bounds__(256) wide_tiles(const int *in, int *out) {
    const int v = in[threadIdx.x];
    out += threadIdx.x * 36;
    wide_tile<64>(v, out), wide_tile<128>(v, out + 12), wide_tile<256>(v, out + 24);
}
