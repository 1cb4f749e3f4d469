// Kernels that read and write images. A texture is the address of an image's descriptor, and of a sampler's 48 bytes after it.

static __device__ unsigned index() {
    return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
}

extern "C" __global__ void sample_line(float4 *out, cudaTextureObject_t texture, const float4 *at) {
    out[index()] = tex1D<float4>(texture, at[index()].x);
}

extern "C" __global__ void sample_plane(float4 *out, cudaTextureObject_t texture, const float4 *at) {
    out[index()] = tex2D<float4>(texture, at[index()].x, at[index()].y);
}

extern "C" __global__ void sample_box(float4 *out, cudaTextureObject_t texture, const float4 *at) {
    out[index()] = tex3D<float4>(texture, at[index()].x, at[index()].y, at[index()].z);
}

extern "C" __global__ void sample_lines(float4 *out, cudaTextureObject_t texture, const float4 *at) {
    out[index()] = tex1DLayered<float4>(texture, at[index()].x, static_cast<int>(at[index()].z));
}

extern "C" __global__ void sample_planes(float4 *out, cudaTextureObject_t texture, const float4 *at) {
    out[index()] = tex2DLayered<float4>(texture, at[index()].x, at[index()].y, static_cast<int>(at[index()].z));
}

// The second channel only.
extern "C" __global__ void sample_green(float4 *out, cudaTextureObject_t texture, const float4 *at) {
    out[index()].x = tex2D<float4>(texture, at[index()].x, at[index()].y).y;
}

extern "C" __global__ void sample_numbers(uint4 *out, cudaTextureObject_t texture, const float4 *at) {
    out[index()] = tex2D<uint4>(texture, at[index()].x, at[index()].y);
}

// Copies the elements of a box one further along each of its sides; those at the ends fall off.
extern "C" __global__ void move_box(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int width, int height) {
    int x = static_cast<int>(index()) % width, y = static_cast<int>(index()) / width % height, z = static_cast<int>(index()) / width / height;
    float4 value;
    surf3Dread(&value, from, x * static_cast<int>(sizeof(float4)), y, z);
    surf3Dwrite(value, to, (x + 1) * static_cast<int>(sizeof(float4)), y + 1, z + 1);
}
