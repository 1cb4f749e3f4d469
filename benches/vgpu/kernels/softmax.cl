#define ITEMS 256

__kernel void softmax(uint columns, __global const float *in, __global float *out) {
    __local float partial[ITEMS];
    const uint item = get_local_id(0);
    __global const float *row = in + get_group_id(0) * columns;
    __global float *result = out + get_group_id(0) * columns;

    float largest = row[item];
    for (uint i = item + ITEMS; i < columns; i += ITEMS)
        largest = fmax(largest, row[i]);
    partial[item] = largest;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint width = ITEMS / 2; width > 0; width /= 2) {
        if (item < width)
            partial[item] = fmax(partial[item], partial[item + width]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    largest = partial[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = 0.0f;
    for (uint i = item; i < columns; i += ITEMS)
        sum += exp(row[i] - largest);
    partial[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint width = ITEMS / 2; width > 0; width /= 2) {
        if (item < width)
            partial[item] += partial[item + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float scale = 1.0f / partial[0];

    for (uint i = item; i < columns; i += ITEMS)
        result[i] = exp(row[i] - largest) * scale;
}
