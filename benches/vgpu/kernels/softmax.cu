// out[row] = exp(in[row] - largest) / sum(exp(in[row] - largest)): one workgroup per row, reductions as trees in LDS.
constexpr unsigned ITEMS = 256;

extern "C" __global__ __launch_bounds__(ITEMS) void softmax(unsigned columns, const float *in, float *out) {
    __shared__ float partial[ITEMS];
    const unsigned item = threadIdx.x;
    const float *row = in + blockIdx.x * columns;
    float *result = out + blockIdx.x * columns;

    float largest = row[item];
    for (unsigned i = item + ITEMS; i < columns; i += ITEMS)
        largest = fmaxf(largest, row[i]);
    partial[item] = largest;
    __syncthreads();
    for (unsigned width = ITEMS / 2; width > 0; width /= 2) {
        if (item < width)
            partial[item] = fmaxf(partial[item], partial[item + width]);
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();

    float sum = 0.0f;
    for (unsigned i = item; i < columns; i += ITEMS)
        sum += expf(row[i] - largest);
    partial[item] = sum;
    __syncthreads();
    for (unsigned width = ITEMS / 2; width > 0; width /= 2) {
        if (item < width)
            partial[item] += partial[item + width];
        __syncthreads();
    }
    const float scale = 1.0f / partial[0];

    for (unsigned i = item; i < columns; i += ITEMS)
        result[i] = expf(row[i] - largest) * scale;
}
