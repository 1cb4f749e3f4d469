// How many iterations each point takes to leave the circle of radius 2, at most `limit`: neighbours diverge.
// Products and sums are rounded separately, so that every compiler gives the same counts.
#pragma clang fp contract(off)

extern "C" __global__ __launch_bounds__(256) void mandelbrot(unsigned size, unsigned limit, float *counts) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    const float scale = 3.0f / static_cast<float>(size);
    const float cr = static_cast<float>(x) * scale - 2.0f;
    const float ci = static_cast<float>(y) * scale - 1.5f;
    float zr = 0.0f, zi = 0.0f;
    unsigned count = 0;
    while (count < limit) {
        const float r2 = zr * zr, i2 = zi * zi;
        if (r2 + i2 > 4.0f)
            break;
        zi = fmaf(2.0f * zr, zi, ci);
        zr = r2 - i2 + cr;
        ++count;
    }
    counts[y * size + x] = static_cast<float>(count);
}
