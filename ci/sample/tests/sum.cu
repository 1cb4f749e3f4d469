// Sums of integers, which floats represent exactly.
#include "sample.h"

#include <cuda_runtime.h>
#include <cstdio>
#include <vector>

int main() {
    for (int count : {1, 17, 256, 4000}) {
        std::vector<float> values(count);
        for (int i = 0; i < count; i++) values[i] = i + 1;
        float sum = 0, expected = 0.5f * count * (count + 1);
        if (int code = sample_sum(values.data(), count, &sum)) {
            std::printf("%d elements: %s\n", count, cudaGetErrorString(static_cast<cudaError_t>(code)));
            return 1;
        }
        if (sum != expected) {
            std::printf("%d elements: the sum is %f, not %f\n", count, sum, expected);
            return 1;
        }
    }
    return 0;
}
