// Copies and fills on one device's streams that use another device's memory are ordered with that device's null stream.
#include "check.h"
#include <thread>
#include <unistd.h>

__global__ void add(unsigned *value, unsigned term, unsigned *flag) {
    while (flag && !__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)) __builtin_amdgcn_s_sleep(64);
    *value += term;
}

static unsigned *flag;

// Starts a kernel that ends a little later, after the caller's next call has begun.
static std::thread begin(int device, hipStream_t stream, unsigned *value, unsigned term) {
    __atomic_store_n(flag, 0u, __ATOMIC_RELEASE);
    OK(hipSetDevice(device));
    add<<<1, 1, 0, stream>>>(value, term, flag);
    OK(hipGetLastError());
    return std::thread([] {
        usleep(2000);
        __atomic_store_n(flag, 1u, __ATOMIC_RELEASE);
    });
}

static unsigned read(unsigned *value) {
    unsigned found;
    OK(hipSetDevice(1));
    OK(hipDeviceSynchronize());
    OK(hipMemcpy(&found, value, sizeof found, hipMemcpyDeviceToHost));
    return found;
}

int main() {
    unsigned *own, *other, *pinned;
    hipStream_t stream;
    OK(hipHostMalloc(&flag, sizeof *flag, hipHostMallocPortable));
    OK(hipHostMalloc(&pinned, sizeof *pinned, hipHostMallocPortable));
    OK(hipMalloc(&own, sizeof *own));
    OK(hipStreamCreate(&stream));
    OK(hipSetDevice(1));
    OK(hipMalloc(&other, sizeof *other));
    OK(hipMemset(other, 0, sizeof *other));
    OK(hipDeviceSynchronize());

    // After the null stream of the memory's device: synchronous, on a stream, and from pageable memory.
    unsigned found = 99;
    std::thread held = begin(1, nullptr, other, 1);
    OK(hipSetDevice(0));
    OK(hipMemcpy(&found, other, sizeof found, hipMemcpyDeviceToHost));
    EXPECT(found == 1);
    held.join();
    held = begin(1, nullptr, other, 1);
    OK(hipSetDevice(0));
    OK(hipMemcpyAsync(pinned, other, sizeof *pinned, hipMemcpyDeviceToHost, stream));
    OK(hipStreamSynchronize(stream));
    EXPECT(*pinned == 2);
    held.join();
    held = begin(1, nullptr, other, 1);
    OK(hipSetDevice(0));
    found = 10;
    OK(hipMemcpyAsync(other, &found, sizeof found, hipMemcpyHostToDevice, stream));
    OK(hipStreamSynchronize(stream));
    held.join();
    EXPECT(read(other) == 10);

    // Before later work of that null stream.
    *pinned = 20;
    OK(hipSetDevice(0));
    OK(hipMemset(own, 0, sizeof *own));
    held = begin(0, stream, own, 1);
    OK(hipMemcpyAsync(other, pinned, sizeof *pinned, hipMemcpyHostToDevice, stream));
    OK(hipSetDevice(1));
    add<<<1, 1>>>(other, 1, nullptr);
    OK(hipGetLastError());
    held.join();
    EXPECT(read(other) == 21);
    return 0;
}
