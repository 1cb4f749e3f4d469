// Eight chains of 1000 dependent multiply-adds in every work-item: nothing but arithmetic.
#pragma clang fp contract(off)

constexpr unsigned CHAINS = 8;
constexpr unsigned ROUNDS = 1000;

extern "C" __global__ __launch_bounds__(256) void alu(float a, float b, const float *in, float *out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x[CHAINS];
    for (unsigned c = 0; c < CHAINS; ++c)
        x[c] = in[i] + static_cast<float>(c);
    for (unsigned round = 0; round < ROUNDS; ++round)
        for (unsigned c = 0; c < CHAINS; ++c)
            x[c] = fmaf(x[c], a, b);
    float sum = 0.0f;
    for (unsigned c = 0; c < CHAINS; ++c)
        sum += x[c];
    out[i] = sum;
}
