#pragma OPENCL FP_CONTRACT OFF

__kernel void mandelbrot(uint size, uint limit, __global float *counts) {
    const uint x = get_global_id(0);
    const uint y = get_global_id(1);
    const float scale = 3.0f / (float)size;
    const float cr = (float)x * scale - 2.0f;
    const float ci = (float)y * scale - 1.5f;
    float zr = 0.0f, zi = 0.0f;
    uint count = 0;
    while (count < limit) {
        const float r2 = zr * zr, i2 = zi * zi;
        if (r2 + i2 > 4.0f)
            break;
        zi = fma(2.0f * zr, zi, ci);
        zr = r2 - i2 + cr;
        ++count;
    }
    counts[y * size + x] = (float)count;
}
