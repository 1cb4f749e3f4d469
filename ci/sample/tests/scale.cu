// Every element is multiplied, in arrays that end inside a block or at its end.
#include "sample.h"

#include <cuda_runtime.h>
#include <cstdio>
#include <vector>

int main() {
    for (int count : {1, 255, 256, 1000}) {
        std::vector<float> values(count);
        for (int i = 0; i < count; i++) values[i] = i * 0.5f;
        if (int code = sample_scale(values.data(), count, 4.0f)) {
            std::printf("%d elements: %s\n", count, cudaGetErrorString(static_cast<cudaError_t>(code)));
            return 1;
        }
        for (int i = 0; i < count; i++) {
            if (values[i] != i * 2.0f) {
                std::printf("%d elements: element %d is %f\n", count, i, values[i]);
                return 1;
            }
        }
    }
    return 0;
}
