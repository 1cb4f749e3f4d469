// Textures over linear memory, read by element index: all channel types, as stored and as numbers between 0 and 1.
#include "check.h"
#include <cmath>
#include <cstring>
#include <cstdint>
#include <string>
#include <vector>

constexpr int COUNT = 1000;

#if !defined(__HIP_NO_IMAGE_SUPPORT) || !__HIP_NO_IMAGE_SUPPORT
template <class T> __device__ T fetch(hipTextureObject_t texture, int at) { return tex1Dfetch<T>(texture, at); }
#else
template <class T> __device__ T fetch(hipTextureObject_t, int) { return T(); }
#endif

template <class T> __global__ void read(hipTextureObject_t texture, T *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = fetch<T>(texture, i);
}

static hipResourceDesc linear(void *memory, hipChannelFormatDesc format, size_t bytes) {
    hipResourceDesc resource = {};
    resource.resType = hipResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = bytes;
    return resource;
}

static hipTextureDesc reading(hipTextureReadMode mode) {
    hipTextureDesc description = {};
    description.readMode = mode;
    return description;
}

// Reads all elements of some memory, of type E, as T, and compares each.
template <class E, class T, class Same> static void elements(hipTextureReadMode mode, Same same) {
    std::vector<E> host(COUNT);
    auto bytes = reinterpret_cast<uint8_t *>(host.data());
    for (size_t i = 0; i < COUNT * sizeof(E); i++) bytes[i] = (i * 37 + i / 256) % 251 & 0xbf;
    E *memory;
    T *out;
    OK(hipMalloc(&memory, COUNT * sizeof(E)));
    // One more than there are: beyond the end, reads return 0.
    OK(hipMalloc(&out, (COUNT + 1) * sizeof(T)));
    OK(hipMemcpy(memory, host.data(), COUNT * sizeof(E), hipMemcpyHostToDevice));
    auto resource = linear(memory, hipCreateChannelDesc<E>(), COUNT * sizeof(E));
    auto description = reading(mode);
    hipTextureObject_t texture = nullptr;
    OK(hipCreateTextureObject(&texture, &resource, &description, nullptr));
    EXPECT(texture != nullptr);
    read<T><<<(COUNT + 256) / 256, 256>>>(texture, out, COUNT + 1);
    OK(hipDeviceSynchronize());
    std::vector<T> seen(COUNT + 1);
    OK(hipMemcpy(seen.data(), out, seen.size() * sizeof(T), hipMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++) EXPECT(same(host[i], seen[i]));
    T nothing = {};
    EXPECT(!memcmp(&seen[COUNT], &nothing, sizeof nothing));
    hipResourceDesc found = {};
    OK(hipGetTextureObjectResourceDesc(&found, texture));
    EXPECT(found.resType == hipResourceTypeLinear && found.res.linear.devPtr == memory);
    EXPECT(found.res.linear.sizeInBytes == COUNT * sizeof(E));
    OK(hipDestroyTextureObject(texture));
    OK(hipFree(memory));
    OK(hipFree(out));
}

template <class T> static void as_they_are() {
    elements<T, T>(hipReadModeElementType, [](const T &was, const T &is) { return !memcmp(&was, &is, sizeof was); });
}

static bool near(float a, float b) { return std::fabs(a - b) <= 1e-6f; }

static void refusals() {
    char *memory;
    OK(hipMalloc(&memory, 4096));
    auto format = hipCreateChannelDesc<float>();
    auto good = linear(memory, format, 1024);
    auto description = reading(hipReadModeElementType);
    hipTextureObject_t texture = nullptr;
    auto refused = [&](hipResourceDesc resource, hipTextureDesc description, hipError_t code) {
        EXPECT_CODE(hipCreateTextureObject(&texture, &resource, &description, nullptr), code);
    };
    auto null = hipErrorInvalidChannelDescriptor;
    EXPECT_CODE(hipCreateTextureObject(nullptr, &good, &description, nullptr), null);
    EXPECT_CODE(hipCreateTextureObject(&texture, nullptr, &description, nullptr), null);
    EXPECT_CODE(hipCreateTextureObject(&texture, &good, nullptr, nullptr), null);
    hipResourceViewDesc view = {};
    EXPECT_CODE(hipCreateTextureObject(&texture, &good, &description, &view), hipErrorUnknown);
    refused(linear(nullptr, format, 1024), description, hipErrorInvalidChannelDescriptor);
    refused(linear(memory + 4, format, 1024), description, hipErrorInvalidChannelDescriptor);
    hipTextureDesc special = description;
    special.maxAnisotropy = 2;
    refused(good, special, hipErrorNotSupported);
    special = description;
    special.mipmapLevelBias = 1;
    refused(good, special, hipErrorNotSupported);
    special = description;
    special.minMipmapLevelClamp = special.maxMipmapLevelClamp = 1;
    OK(hipCreateTextureObject(&texture, &good, &special, nullptr));
    OK(hipDestroyTextureObject(texture));
    auto array = good;
    array.resType = hipResourceTypeArray;
    array.res.array.array = nullptr;
    refused(array, description, hipErrorInvalidValue);
    array.resType = hipResourceTypeMipmappedArray;
    refused(array, description, hipErrorNotSupported);
    OK(hipDestroyTextureObject(nullptr));
    OK(hipFree(memory));
}

int main() {
    hipDeviceProp_t properties;
    OK(hipGetDeviceProperties(&properties, 0));
    int has_images = 0;
    OK(hipDeviceGetAttribute(&has_images, hipDeviceAttributeImageSupport, 0));
    if (!has_images) {
        EXPECT(std::string(properties.gcnArchName).rfind("gfx942", 0) == 0);
        hipTextureObject_t texture;
        auto resource = linear(&texture, hipCreateChannelDesc<float>(), 64);
        auto description = reading(hipReadModeElementType);
        EXPECT_CODE(hipCreateTextureObject(&texture, &resource, &description, nullptr), hipErrorNotSupported);
        return 0;
    }
    EXPECT(properties.textureAlignment == 256 && properties.maxTexture1DLinear >= 1 << 27);
    as_they_are<char>();
    as_they_are<unsigned char>();
    as_they_are<uchar2>();
    as_they_are<char4>();
    as_they_are<short>();
    as_they_are<ushort4>();
    as_they_are<int>();
    as_they_are<uint2>();
    as_they_are<int4>();
    as_they_are<float>();
    as_they_are<float2>();
    as_they_are<float4>();
    auto mode = hipReadModeNormalizedFloat;
    elements<uchar4, float4>(mode, [](uchar4 was, float4 is) {
        return near(is.x, was.x / 255.0f) && near(is.y, was.y / 255.0f) && near(is.z, was.z / 255.0f) &&
               near(is.w, was.w / 255.0f);
    });
    elements<short2, float2>(mode, [](short2 was, float2 is) {
        auto part = [](short value) { return std::fmax(value / 32767.0f, -1.0f); };
        return near(is.x, part(was.x)) && near(is.y, part(was.y));
    });
    elements<unsigned short, float>(mode, [](unsigned short was, float is) { return near(is, was / 65535.0f); });
    elements<signed char, float>(mode, [](signed char was, float is) {
        return near(is, std::fmax(was / 127.0f, -1.0f));
    });
    refusals();
}
