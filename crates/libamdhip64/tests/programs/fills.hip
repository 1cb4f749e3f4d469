// Fills without a stream. Of device memory: they return before earlier work of the default stream is done, and run after it. Of host
// memory: they are done when they return.
#include "check.h"
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

constexpr int PITCH = 64, ROWS = 16, BYTES = PITCH * ROWS;

// Waits for the host's flag, then writes.
__global__ void wait_and_write(int *word, unsigned char *out) {
    while (__hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(8);
    for (int i = threadIdx.x; i < BYTES; i += blockDim.x) out[i] = 1;
}

// Fills behind a kernel that waits. Another thread sets the flag after a time, so that a fill that waits returns as well.
// Returns whether the flag was set when the fill returned.
static bool came_before_return(int *word, unsigned char *memory, std::chrono::milliseconds after,
                               const std::function<void()> &fill) {
    __atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
    wait_and_write<<<1, 64>>>(word, memory);
    OK(hipGetLastError());
    std::atomic<bool> returned{false};
    std::thread other([&] {
        auto until = std::chrono::steady_clock::now() + after;
        while (!returned && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    });
    fill();
    bool came = __atomic_load_n(word, __ATOMIC_SEQ_CST) != 0;
    returned = true;
    other.join();
    return came;
}

int main() {
    int *word;
    unsigned char *device, *pinned, *managed;
    OK(hipHostMalloc(reinterpret_cast<void **>(&word), sizeof *word, 0));
    OK(hipMalloc(&device, BYTES));
    OK(hipHostMalloc(reinterpret_cast<void **>(&pinned), BYTES, 0));
    OK(hipMallocManaged(&managed, BYTES));
    auto at = [](unsigned char *memory) { return reinterpret_cast<hipDeviceptr_t>(memory); };
    using Fill = std::function<void(unsigned char *)>;
    std::vector<Fill> fills = {
        [&](unsigned char *memory) { OK(hipMemset(memory, 7, BYTES)); },
        [&](unsigned char *memory) { OK(hipMemsetD8(at(memory), 7, BYTES)); },
        [&](unsigned char *memory) { OK(hipMemsetD16(at(memory), 0x0707, BYTES / 2)); },
        [&](unsigned char *memory) { OK(hipMemsetD32(at(memory), 0x07070707, BYTES / 4)); },
        [&](unsigned char *memory) { OK(hipMemset2D(memory, PITCH, 7, PITCH, ROWS)); },
        [&](unsigned char *memory) {
            OK(hipMemset3D(hipPitchedPtr{memory, PITCH, PITCH, ROWS}, 7, hipExtent{PITCH, ROWS, 1}));
        },
    };
    for (size_t i = 0; i < fills.size(); i++) {
        bool waited = came_before_return(word, device, std::chrono::seconds(20), [&] { fills[i](device); });
        if (waited) fprintf(stderr, "fill %zu of device memory waited\n", i);
        EXPECT(!waited);
        std::vector<unsigned char> seen(BYTES);
        OK(hipMemcpy(seen.data(), device, BYTES, hipMemcpyDeviceToHost));
        for (int byte : seen) EXPECT(byte == 7);
        for (auto memory : {pinned, managed}) {
            waited = came_before_return(word, memory, std::chrono::milliseconds(50), [&] {
                fills[i](memory);
                for (int at = 0; at < BYTES; at++) EXPECT(memory[at] == 7);
            });
            EXPECT(waited);
        }
    }
    OK(hipDeviceSynchronize());
}
