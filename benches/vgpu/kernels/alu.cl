#pragma OPENCL FP_CONTRACT OFF

#define CHAINS 8
#define ROUNDS 1000

__kernel void alu(float a, float b, __global const float *in, __global float *out) {
    const uint i = get_global_id(0);
    float x[CHAINS];
    for (uint c = 0; c < CHAINS; ++c)
        x[c] = in[i] + (float)c;
    for (uint round = 0; round < ROUNDS; ++round)
        for (uint c = 0; c < CHAINS; ++c)
            x[c] = fma(x[c], a, b);
    float sum = 0.0f;
    for (uint c = 0; c < CHAINS; ++c)
        sum += x[c];
    out[i] = sum;
}
