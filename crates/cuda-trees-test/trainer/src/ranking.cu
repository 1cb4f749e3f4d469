// Ranking by Thrust from host code: on a stream, on the caller's memory and on its own vectors.
#include "check.h"
#include <thrust/binary_search.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

struct Squared {
    __host__ __device__ float operator()(float x) const { return x * x; }
};

// Sorts the keys, largest first, with their places. Then returns the sum of their squares, the largest square, and
// for each bound, how many keys are at least that.
extern "C" int trainer_rank(float *keys, int *places, int n, const float *bounds, int *above, int bound_count, float *sum, float *largest,
                            cudaStream_t stream) {
    try {
        auto policy = thrust::cuda::par.on(stream);
        thrust::device_ptr<float> first(keys);
        thrust::device_ptr<int> place(places);
        thrust::sequence(policy, place, place + n);
        thrust::sort_by_key(policy, first, first + n, place, thrust::greater<float>());
        thrust::device_vector<float> squares(n);
        thrust::transform(policy, first, first + n, squares.begin(), Squared());
        *sum = thrust::reduce(policy, squares.begin(), squares.end());
        *largest = thrust::reduce(policy, squares.begin(), squares.end(), 0.0f, thrust::maximum<float>());
        thrust::upper_bound(policy, first, first + n, thrust::device_pointer_cast(bounds), thrust::device_pointer_cast(bounds) + bound_count,
                            thrust::device_pointer_cast(above), thrust::greater<float>());
        return 0;
    } catch (const thrust::system_error &error) {
        return error.code().value();
    }
}
