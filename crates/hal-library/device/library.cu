// The device library of `hal`. Its launchers are in crates/hal/src/command/library.rs.
//
// Each work-item moves 16 bytes, and goes on with the next part of the range. Ranges may begin anywhere.

#include <hip/hip_runtime.h>

using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long long;

// The first byte of a work-item's part, and the distance to its next one.
static __device__ u64 first() { return (blockIdx.x * u64(blockDim.x) + threadIdx.x) * 16; }
static __device__ u64 stride() { return gridDim.x * u64(blockDim.x) * 16; }

extern "C" __global__ __launch_bounds__(256) void hal_copy(u8 *to, const u8 *from, u64 size) {
    const u64 lowest = u64(to) | u64(from);
    for (u64 at = first(); at < size; at += stride()) {
        if (lowest % 16 == 0 && size - at >= 16) {
            *(uint4 *)(to + at) = *(const uint4 *)(from + at);
        } else if (lowest % 4 == 0 && size - at >= 16) {
            for (u32 word = 0; word < 4; word++)
                ((u32 *)(to + at))[word] = ((const u32 *)(from + at))[word];
        } else {
            const u64 end = size - at < 16 ? size : at + 16;
            for (u64 byte = at; byte < end; byte++) to[byte] = from[byte];
        }
    }
}

// `low` and `high` are the 16 bytes that repeat from the first byte on.
extern "C" __global__ __launch_bounds__(256) void hal_fill(u8 *to, u64 size, u64 low, u64 high) {
    for (u64 at = first(); at < size; at += stride()) {
        if (u64(to) % 16 == 0 && size - at >= 16) {
            *(uint4 *)(to + at) = make_uint4(u32(low), u32(low >> 32), u32(high), u32(high >> 32));
        } else {
            const u32 count = size - at < 16 ? u32(size - at) : 16;
            for (u32 byte = 0; byte < count; byte++)
                to[at + byte] = u8((byte < 8 ? low : high) >> (byte % 8 * 8));
        }
    }
}

// Completes the packet of a kernel: its grid, the numbers of workgroups among its hidden arguments, and last
// its first word. If there is nothing to run, the packet becomes a barrier that waits for nothing.
extern "C" __global__ void hal_patch(u32 *packet, u8 *arguments, const u32 *counts, u64 header, u32 x, u32 y,
                                     u32 z, u32 place_x, u32 place_y, u32 place_z) {
    const u32 size[3] = {x, y, z}, place[3] = {place_x, place_y, place_z};
    bool runs = true;
    for (u32 dimension = 0; dimension < 3; dimension++) {
        const u64 items = u64(counts[dimension]) * size[dimension];
        runs = runs && items != 0 && items <= 0xffffffff;
    }
    for (u32 dimension = 0; runs && dimension < 3; dimension++) {
        packet[3 + dimension] = counts[dimension] * size[dimension];
        if (place[dimension] != ~0u) *(u32 *)(arguments + place[dimension]) = counts[dimension];
    }
    if (!runs) {
        for (u32 word = 1; word < 14; word++) packet[word] = 0;
        // The type is in the lowest byte; a barrier has no dimensions.
        header = (header & 0xff00) | 3;
    }
    __hip_atomic_store(packet, u32(header), __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

extern "C" __global__ void hal_time(u64 *to) { *to = wall_clock64(); }

#include "schedule.cuh"
