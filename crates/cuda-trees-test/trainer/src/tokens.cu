// Statistics of tokens by CUB's functions for whole devices, and a histogram by Thrust.
#include "check.h"
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/remove.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>

namespace {
// Calls a function of CUB twice: for the size of its temporary memory, and to run.
template <typename F> cudaError_t with_memory(cudaStream_t stream, F &&run) {
    size_t size = 0;
    void *memory = nullptr;
    cudaError_t status = run(nullptr, size);
    if (status == cudaSuccess)
        status = cudaMallocAsync(&memory, size, stream);
    if (status == cudaSuccess)
        status = run(memory, size);
    return status == cudaSuccess ? cudaFreeAsync(memory, stream) : status;
}
struct Odd {
    __host__ __device__ bool operator()(int x) const { return x & 1; }
};
struct Weighted {
    __host__ __device__ double operator()(const thrust::tuple<int, int> &pair) const { return double(thrust::get<0>(pair)) * thrust::get<1>(pair); }
};
} // namespace

// Of n tokens: sorted pairs with their places, prefix sums, the largest with its place, the odd ones and their number, and runs of equal
// tokens among the sorted ones.
extern "C" int trainer_tokens(const int *tokens, int n, int *sorted, int *places, int *sums, int *largest, int *odd, int *runs, int *lengths,
                              int *counts, cudaStream_t stream) {
    thrust::device_vector<int> order(n), scratch(n);
    thrust::sequence(thrust::cuda::par.on(stream), order.begin(), order.end());
    int *const first = thrust::raw_pointer_cast(order.data()), *const second = thrust::raw_pointer_cast(scratch.data());
    CUDA_CHECK(with_memory(stream, [&](void *memory, size_t &size) {
        return cub::DeviceRadixSort::SortPairs(memory, size, tokens, sorted, first, places, n, 0, 32, stream);
    }));
    CUDA_CHECK(with_memory(stream, [&](void *memory, size_t &size) { return cub::DeviceScan::ExclusiveSum(memory, size, tokens, sums, n, stream); }));
    cub::KeyValuePair<int, int> *best = nullptr;
    CUDA_CHECK(cudaMallocAsync(&best, sizeof *best, stream));
    CUDA_CHECK(with_memory(stream, [&](void *memory, size_t &size) { return cub::DeviceReduce::ArgMax(memory, size, tokens, best, n, stream); }));
    CUDA_CHECK(cudaMemcpyAsync(largest, best, sizeof *best, cudaMemcpyDeviceToDevice, stream));
    CUDA_CHECK(cudaFreeAsync(best, stream));
    CUDA_CHECK(with_memory(stream, [&](void *memory, size_t &size) {
        return cub::DeviceSelect::If(memory, size, tokens, odd, counts, n, Odd(), stream);
    }));
    CUDA_CHECK(with_memory(stream, [&](void *memory, size_t &size) {
        return cub::DeviceRunLengthEncode::Encode(memory, size, sorted, runs, lengths, counts + 1, n, stream);
    }));
    // A double buffer keeps the result where it says.
    CUDA_CHECK(cudaMemcpyAsync(second, tokens, n * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    cub::DoubleBuffer<int> keys(second, first);
    CUDA_CHECK(with_memory(stream, [&](void *memory, size_t &size) {
        return cub::DeviceRadixSort::SortKeysDescending(memory, size, keys, n, 0, 32, stream);
    }));
    CUDA_CHECK(cudaMemcpyAsync(counts + 2, keys.Current(), sizeof(int), cudaMemcpyDeviceToDevice, stream));
    return cudaStreamSynchronize(stream);
}

// The sum of the products of each distinct token and its place in their order, without the multiples of three.
extern "C" int trainer_distinct(const int *tokens, int n, double *sum) {
    thrust::device_vector<int> all(thrust::device_pointer_cast(tokens), thrust::device_pointer_cast(tokens) + n);
    thrust::sort(all.begin(), all.end());
    all.erase(thrust::unique(all.begin(), all.end()), all.end());
    all.erase(thrust::remove_if(all.begin(), all.end(), [] __host__ __device__(int x) { return x % 3 == 0; }), all.end());
    thrust::host_vector<int> places(all.size());
    thrust::sequence(places.begin(), places.end());
    const thrust::device_vector<int> on_device = places;
    const auto first = thrust::make_zip_iterator(thrust::make_tuple(all.begin(), on_device.begin()));
    *sum = thrust::transform_reduce(first, first + all.size(), Weighted(), 0.0, thrust::plus<double>());
    return 0;
}
