// Sums and products of arrays in host memory, computed on the current device. Each returns 0, or the code of the call that failed.
#pragma once

extern "C" {
int sample_scale(float* values, int count, float factor);
int sample_sum(const float* values, int count, float* sum);
}
