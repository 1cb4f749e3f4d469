// Reads a row of a texture, of whose four rows only two were written. The argument is the place of the row.
#include <cstdlib>
#include <vector>

__global__ void read_row(float *out, cudaTextureObject_t texture, float y) {
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.25f, y);
}

int main(int, char **arguments) {
    const int width = 16, height = 4;
    std::vector<float> rows(width * height / 2, 1.0f);
    size_t row = width * sizeof(float);
    cudaArray_t array;
    auto format = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &format, width, height);
    cudaMemcpy2DToArray(array, 0, 0, rows.data(), row, row, height / 2, cudaMemcpyHostToDevice);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.filterMode = cudaFilterModeLinear;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t texture = 0;
    cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    float *out;
    cudaMalloc(&out, row);
    read_row<<<1, width>>>(out, texture, static_cast<float>(atof(arguments[1])));
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
