// Textures and surfaces over arrays and pitched memory, against a model on the host. Prints PASSED.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define EXPECT(condition)                                                                  \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);  \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)
#define OK(call)                                                                           \
    do {                                                                                   \
        cudaError_t code_ = (call);                                                        \
        if (code_ != cudaSuccess) {                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(code_)); \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

enum Shape { LINE, PLANE, BOX, LINES, PLANES };

static bool is_layered(Shape shape) { return shape == LINES || shape == PLANES; }

// Sides that coordinates name, without layers.
static int sides(Shape shape) { return shape == BOX ? 3 : shape == PLANE || shape == PLANES ? 2 : 1; }

template <class T, int SHAPE> __global__ void sample(T *out, cudaTextureObject_t texture, const float4 *at, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float4 p = at[i];
    if constexpr (SHAPE == LINE) out[i] = tex1D<T>(texture, p.x);
    if constexpr (SHAPE == PLANE) out[i] = tex2D<T>(texture, p.x, p.y);
    if constexpr (SHAPE == BOX) out[i] = tex3D<T>(texture, p.x, p.y, p.z);
    if constexpr (SHAPE == LINES) out[i] = tex1DLayered<T>(texture, p.x, static_cast<int>(p.w));
    if constexpr (SHAPE == PLANES) out[i] = tex2DLayered<T>(texture, p.x, p.y, static_cast<int>(p.w));
}

// What is in memory: rows without gaps of elements with channels, as the numbers that a texture returns.
struct Texels {
    int size[3];
    int channels;
    std::vector<float> numbers;

    float at(int x, int y, int z, int channel) const {
        return numbers[((size_t(z) * size[1] + y) * size[0] + x) * channels + channel];
    }
};

// The index of a texel along one side; -1 for the border.
static int addressed(int i, int n, cudaTextureAddressMode mode) {
    switch (mode) {
        case cudaAddressModeWrap: return ((i % n) + n) % n;
        case cudaAddressModeMirror: {
            int j = ((i % (2 * n)) + 2 * n) % (2 * n);
            return j < n ? j : 2 * n - 1 - j;
        }
        case cudaAddressModeBorder: return i < 0 || i >= n ? -1 : i;
        default: return i < 0 ? 0 : i >= n ? n - 1 : i;
    }
}

// One channel of a sample at a place that is not normalized.
static float model(const Texels &texels, Shape shape, const cudaTextureDesc &how, const float *place, int layer, int channel) {
    bool linear = how.filterMode == cudaFilterModeLinear;
    int dims = sides(shape), first[3] = {0, 0, 0};
    double part[3] = {0, 0, 0};
    for (int axis = 0; axis < dims; axis++) {
        double c = place[axis] - (linear ? 0.5 : 0.0);
        first[axis] = static_cast<int>(std::floor(c));
        part[axis] = linear ? c - first[axis] : 0;
    }
    double sum = 0;
    for (int corner = 0; corner < 1 << dims; corner++) {
        double weight = 1;
        int index[3] = {0, 0, is_layered(shape) ? layer : 0};
        bool border = false;
        for (int axis = 0; axis < dims; axis++) {
            int next = corner >> axis & 1;
            weight *= next ? part[axis] : 1 - part[axis];
            auto mode = how.addressMode[axis];
            if (!how.normalizedCoords && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror))
                mode = cudaAddressModeClamp;
            index[axis] = addressed(first[axis] + next, texels.size[axis], mode);
            border |= index[axis] < 0;
        }
        if (weight != 0 && !border) sum += weight * texels.at(index[0], index[1], index[2], channel);
    }
    return static_cast<float>(sum);
}

static unsigned state = 1;
static unsigned random_number() {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

template <class T> static const float *numbers_of(const T &value) { return reinterpret_cast<const float *>(&value); }

// Samples with all filters, address modes and kinds of coordinates.
template <class T, int SHAPE> static void samples(cudaResourceDesc resource, const Texels &texels, cudaTextureReadMode read, bool filters) {
    constexpr int COUNT = 300;
    Shape shape = static_cast<Shape>(SHAPE);
    float4 *at;
    T *out;
    OK(cudaMalloc(&at, COUNT * sizeof(float4)));
    OK(cudaMalloc(&out, COUNT * sizeof(T)));
    for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear})
        for (auto mode : {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder})
            for (int normalized : {0, 1}) {
                cudaTextureDesc how = {};
                how.filterMode = filter;
                how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = mode;
                how.readMode = read;
                how.normalizedCoords = normalized;
                cudaTextureObject_t texture = 0;
                if (filter == cudaFilterModeLinear && !filters) {
                    EXPECT(cudaCreateTextureObject(&texture, &resource, &how, nullptr) == cudaErrorNotSupported);
                    (void)cudaGetLastError();
                    continue;
                }
                OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
                // Places at odd eighths of a texel: neither on borders between texels nor in their middle, and
                // exact in the fractions of any hardware.
                std::vector<float4> places(COUNT), given(COUNT);
                for (int i = 0; i < COUNT; i++) {
                    float *place = &places[i].x, *to = &given[i].x;
                    for (int axis = 0; axis < sides(shape); axis++) {
                        int n = texels.size[axis];
                        place[axis] = (static_cast<int>(random_number() % (8 * 3 * n)) - 8 * n) / 8.0f;
                        if (std::fmod(place[axis] * 8, 2.0f) == 0) place[axis] += 0.125f;
                        to[axis] = normalized ? place[axis] / n : place[axis];
                    }
                    given[i].w = places[i].w = static_cast<float>(random_number() % texels.size[2]);
                }
                OK(cudaMemcpy(at, given.data(), COUNT * sizeof(float4), cudaMemcpyHostToDevice));
                sample<T, SHAPE><<<(COUNT + 127) / 128, 128>>>(out, texture, at, COUNT);
                OK(cudaGetLastError());
                std::vector<T> seen(COUNT);
                OK(cudaMemcpy(seen.data(), out, COUNT * sizeof(T), cudaMemcpyDeviceToHost));
                for (int i = 0; i < COUNT; i++)
                    for (int channel = 0; channel < texels.channels; channel++) {
                        float is = numbers_of(seen[i])[channel];
                        float should = model(texels, shape, how, &places[i].x, static_cast<int>(places[i].w), channel);
                        if (std::fabs(is - should) > 1e-4f) {
                            fprintf(stderr, "shape %d, filter %d, address %d, normalized %d: at %g %g %g, layer %g, channel %d: %g, not %g\n",
                                    SHAPE, filter, mode, normalized, places[i].x, places[i].y, places[i].z, places[i].w, channel, is, should);
                            exit(1);
                        }
                    }
                OK(cudaDestroyTextureObject(texture));
            }
    OK(cudaFree(at));
    OK(cudaFree(out));
}

static cudaResourceDesc of_array(cudaArray_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

// Elements of type E as numbers, and an array with them.
template <class E> struct Filled {
    std::vector<E> elements;
    cudaArray_t array = nullptr;

    Filled(Shape shape, int width, int height, int depth, unsigned flags) {
        int rows = height ? height : 1, slices = depth ? depth : 1;
        elements.resize(size_t(width) * rows * slices);
        auto bytes = reinterpret_cast<unsigned char *>(elements.data());
        for (size_t i = 0; i < elements.size() * sizeof(E); i++) bytes[i] = random_number();
        auto format = cudaCreateChannelDesc<E>();
        if (is_layered(shape)) flags |= cudaArrayLayered;
        if (depth) OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth), flags));
        else OK(cudaMallocArray(&array, &format, width, height, flags));
    }

    void upload(int width, int height, int depth) {
        if (depth) {
            cudaMemcpy3DParms copy = {};
            copy.srcPtr = make_cudaPitchedPtr(elements.data(), width * sizeof(E), width, height ? height : 1);
            copy.dstArray = array;
            copy.extent = make_cudaExtent(width, height ? height : 1, depth);
            copy.kind = cudaMemcpyHostToDevice;
            OK(cudaMemcpy3D(&copy));
        } else {
            size_t row = width * sizeof(E);
            OK(cudaMemcpy2DToArray(array, 0, 0, elements.data(), row, row, height ? height : 1, cudaMemcpyHostToDevice));
        }
    }
};

static bool has_filters_between_slices;

template <int SHAPE> static void floats(int width, int height, int depth) {
    Filled<float> filled(static_cast<Shape>(SHAPE), width, height, depth, 0);
    Texels texels = {{width, height ? height : 1, depth ? depth : 1}, 1, {}};
    for (auto &number : filled.elements) {
        number = random_number() % 1024 / 1024.0f;
        texels.numbers.push_back(number);
    }
    filled.upload(width, height, depth);
    bool filters = !depth || has_filters_between_slices;
    samples<float, SHAPE>(of_array(filled.array), texels, cudaReadModeElementType, filters);
    OK(cudaFreeArray(filled.array));
}

template <int SHAPE> static void bytes(int width, int height, int depth) {
    Filled<uchar4> filled(static_cast<Shape>(SHAPE), width, height, depth, 0);
    Texels texels = {{width, height ? height : 1, depth ? depth : 1}, 4, {}};
    for (auto &element : filled.elements)
        for (unsigned char channel : {element.x, element.y, element.z, element.w}) texels.numbers.push_back(channel / 255.0f);
    filled.upload(width, height, depth);
    bool filters = !depth || has_filters_between_slices;
    samples<float4, SHAPE>(of_array(filled.array), texels, cudaReadModeNormalizedFloat, filters);
    OK(cudaFreeArray(filled.array));
}

// Rows of pitched memory.
static void plane_in_memory() {
    const int width = 20, height = 8;
    float *memory;
    size_t pitch;
    OK(cudaMallocPitch(&memory, &pitch, width * sizeof(float), height));
    Texels texels = {{width, height, 1}, 1, {}};
    for (int i = 0; i < width * height; i++) texels.numbers.push_back(random_number() % 512 / 512.0f);
    size_t row = width * sizeof(float);
    OK(cudaMemcpy2D(memory, pitch, texels.numbers.data(), row, row, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    samples<float, PLANE>(resource, texels, cudaReadModeElementType, true);
    OK(cudaFree(memory));
}

// Integers are read as they are.
static void numbers() {
    const int width = 16, height = 4;
    Filled<ushort4> filled(PLANE, width, height, 0, 0);
    filled.upload(width, height, 0);
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t texture = 0;
    auto resource = of_array(filled.array);
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    std::vector<float4> places;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) places.push_back(make_float4(x + 0.5f, y + 0.5f, 0, 0));
    float4 *at;
    ushort4 *out;
    int count = width * height;
    OK(cudaMalloc(&at, count * sizeof(float4)));
    OK(cudaMalloc(&out, count * sizeof(ushort4)));
    OK(cudaMemcpy(at, places.data(), count * sizeof(float4), cudaMemcpyHostToDevice));
    sample<ushort4, PLANE><<<1, 64>>>(out, texture, at, count);
    std::vector<ushort4> seen(count);
    OK(cudaMemcpy(seen.data(), out, count * sizeof(ushort4), cudaMemcpyDeviceToHost));
    EXPECT(!memcmp(seen.data(), filled.elements.data(), count * sizeof(ushort4)));
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(filled.array));
    OK(cudaFree(at));
    OK(cudaFree(out));
}

// Moves each element one column on, and out of the last column.
template <class T> __global__ void move_plane(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width || y >= height) return;
    T value;
    surf2Dread(&value, from, x * static_cast<int>(sizeof(T)), y);
    surf2Dwrite(value, to, (x + 1) * static_cast<int>(sizeof(T)), y);
}

template <class T> __global__ void move_box(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int width, int height) {
    int x = threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    if (x >= width || y >= height) return;
    T value;
    surf3Dread(&value, from, x * static_cast<int>(sizeof(T)), y, z);
    surf3Dwrite(value, to, (x + 1) * static_cast<int>(sizeof(T)), y, z);
}

// The same in layers, where the first column stays: what is before it is the nearest element.
template <class T> __global__ void move_layers(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int width, int height) {
    int x = threadIdx.x, y = blockIdx.y, layer = blockIdx.z, bytes = static_cast<int>(sizeof(T));
    if (x >= width || y >= height) return;
    T value = surf2DLayeredread<T>(from, (x - 1) * bytes, y, layer, cudaBoundaryModeClamp);
    surf2DLayeredwrite(value, to, x * bytes, y, layer);
}

template <class T> static void surfaces(int depth, bool layered = false) {
    const int width = 20, height = 6;
    Shape shape = layered ? PLANES : depth ? BOX : PLANE;
    Filled<T> from(shape, width, height, depth, cudaArraySurfaceLoadStore), to(shape, width, height, depth, cudaArraySurfaceLoadStore);
    // Any bits of a float may not be a number, which need not survive; those of small integers do.
    for (auto filled : {&from, &to}) {
        auto words = reinterpret_cast<unsigned char *>(filled->elements.data());
        for (size_t i = 0; i < filled->elements.size() * sizeof(T); i++) words[i] &= 0x3f;
        filled->upload(width, height, depth);
    }
    cudaSurfaceObject_t reads = 0, writes = 0;
    auto resource = of_array(from.array);
    OK(cudaCreateSurfaceObject(&reads, &resource));
    resource = of_array(to.array);
    OK(cudaCreateSurfaceObject(&writes, &resource));
    if (layered) move_layers<T><<<dim3(1, height, depth), 32>>>(writes, reads, width, height);
    else if (depth) move_box<T><<<dim3(1, height, depth), 32>>>(writes, reads, width, height);
    else move_plane<T><<<dim3(1, height), 32>>>(writes, reads, width, height);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    std::vector<T> seen(to.elements.size());
    cudaMemcpy3DParms copy = {};
    copy.srcArray = to.array;
    copy.dstPtr = make_cudaPitchedPtr(seen.data(), width * sizeof(T), width, height);
    copy.extent = make_cudaExtent(width, height, depth ? depth : 1);
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    for (size_t i = 0; i < seen.size(); i++) {
        const T &should = i % width ? from.elements[i - 1] : layered ? from.elements[i] : to.elements[i];
        EXPECT(!memcmp(&seen[i], &should, sizeof(T)));
    }
    OK(cudaDestroySurfaceObject(reads));
    OK(cudaDestroySurfaceObject(writes));
    OK(cudaFreeArray(from.array));
    OK(cudaFreeArray(to.array));
}

// An argument says that the device does not filter between slices.
int main(int count, char **) {
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    EXPECT(properties.maxTexture2D[0] >= 16384 && properties.maxTexture3D[2] >= 2048);
    // AMD's runtime refuses filters between slices on gfx90a.
    has_filters_between_slices = count == 1;
    floats<LINE>(32, 0, 0);
    floats<PLANE>(16, 8, 0);
    floats<BOX>(8, 4, 4);
    floats<LINES>(16, 0, 5);
    floats<PLANES>(16, 8, 3);
    bytes<LINE>(64, 0, 0);
    bytes<PLANE>(32, 4, 0);
    bytes<BOX>(4, 8, 2);
    bytes<PLANES>(8, 8, 2);
    plane_in_memory();
    numbers();
    surfaces<float>(0);
    surfaces<float4>(0);
    surfaces<uchar4>(0);
    surfaces<short2>(0);
    surfaces<int>(3);
    surfaces<float2>(2);
    surfaces<float>(3, true);
    surfaces<uchar2>(2, true);
    printf("PASSED\n");
}
