// Asynchronous copies to shared memory, and their synchronisation.
#include <cuda_awbarrier.h>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

// Four, eight and sixteen bytes; the last bytes of some are zero.
extern "C" __global__ void copies(const unsigned char *in, unsigned char *out) {
    __shared__ __align__(16) unsigned char local[64 * 32];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(local + t * 32, in + t * 32, 16, t % 17);
    __pipeline_memcpy_async(local + t * 32 + 16, in + t * 32 + 16, 8);
    __pipeline_commit();
    nvcuda::experimental::pipeline pipe;
    nvcuda::experimental::memcpy_async(*reinterpret_cast<int2 *>(local + t * 32 + 24), *reinterpret_cast<const int2 *>(in + t * 32 + 24), pipe);
    pipe.commit();
    __pipeline_wait_prior(0);
    pipe.wait_prior<0>();
    __syncthreads();
    const int other = blockDim.x - 1 - t;
    for (int i = 0; i < 32; i++)
        out[t * 32 + i] = local[other * 32 + i];
}

// Half of the block fetches rows, the other half sums them; two rows are in flight.
extern "C" __global__ void producers(const int *in, int *out, int rows) {
    constexpr unsigned stages = 2, width = 64;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    __shared__ __align__(16) int local[stages][width];
    const cg::thread_block block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state, width);
    if (block.thread_rank() < width) {
        for (int row = 0; row < rows; row++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&local[row % stages][block.thread_rank()], in + row * width + block.thread_rank(), sizeof(int), pipe);
            pipe.producer_commit();
        }
    } else {
        int sum = 0;
        for (int row = 0; row < rows; row++) {
            pipe.consumer_wait();
            sum = sum * 3 + local[row % stages][width - 1 - (block.thread_rank() - width)];
            pipe.consumer_release();
        }
        out[block.thread_rank() - width] = sum;
    }
}

// Programs lay out shared memory for barriers by this size.
static_assert(sizeof(cuda::barrier<cuda::thread_scope_block>) == 8 && alignof(cuda::barrier<cuda::thread_scope_block>) == 8, "CUDA's size");

// Rounds of a barrier: each thread reads what its neighbour wrote in the previous round.
extern "C" __global__ void barriers(int *out, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ nvcuda::experimental::awbarrier other;
    __shared__ int values[2][128];
    const int t = threadIdx.x;
    if (t == 0) {
        init(&bar, blockDim.x);
        init(&other, blockDim.x);
    }
    __syncthreads();
    values[0][t] = t;
    for (int round = 0; round < rounds; round++) {
        if (round % 2 == 0) {
            bar.wait(bar.arrive());
        } else {
            auto token = other.arrive();
            other.wait(token);
        }
        values[(round + 1) % 2][t] = values[round % 2][(t + 1) % blockDim.x] * 2 + 1;
    }
    bar.arrive_and_wait();
    out[t] = values[rounds % 2][(t + 5) % blockDim.x];
}

// A copy of the whole block that a barrier waits for.
extern "C" __global__ void block_copy(const double *in, double *out) {
    __shared__ double local[200];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    const auto block = cg::this_thread_block();
    if (block.thread_rank() == 0)
        init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(block, local, in, sizeof(local), bar);
    bar.arrive_and_wait();
    for (int i = block.thread_rank(); i < 200; i += block.size())
        out[i] = local[199 - i];
}
