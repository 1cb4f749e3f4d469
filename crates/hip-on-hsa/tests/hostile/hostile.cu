// Kernels that try to harm the process that launches them.
#include <cstdio>

typedef unsigned long long u64;
typedef u64 Pair __attribute__((ext_vector_type(2)));
extern "C" __device__ u64 __ockl_printf_begin(u64);
extern "C" __device__ u64 __ockl_printf_append_args(u64, unsigned, u64, u64, u64, u64, u64, u64, u64, unsigned);
extern "C" __device__ Pair __ockl_call_host_function(u64, u64, u64, u64, u64, u64, u64, u64);

// Makes the host call any address.
extern "C" __global__ void call(u64 function, u64 *out) {
    const Pair pair = __ockl_call_host_function(function, 1, 2, 3, 4, 5, 6, 7);
    out[0] = pair.x;
    out[1] = pair.y;
}

// Messages that never end.
extern "C" __global__ void begin_for_ever(unsigned count) {
    for (unsigned i = 0; i < count; i++) __ockl_printf_begin(0);
}

// A very long message that ends eventually.
extern "C" __global__ void go_on_for_ever(unsigned count) {
    u64 message = __ockl_printf_begin(0);
    for (unsigned i = 0; i < count; i++) message = __ockl_printf_append_args(message, 7, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, 0);
    __ockl_printf_append_args(message, 1, ~0ull, 0, 0, 0, 0, 0, 0, 1);
}

// One conversion of a megabyte after the other.
extern "C" __global__ void wide(int width) {
    printf("%*d%*d%*d%*d%*d%*d%*d%*d\n", width, 1, width, 2, width, 3, width, 4, width, 5, width, 6, width, 7, width, 8);
}

extern "C" __global__ void hello() { printf("hello\n"); }

// The packets of the queue that runs the kernel. The queue's structure starts where the kernel's own packet
// is, and has the packets' address.
static __device__ unsigned *ring() {
    const u64 structure = reinterpret_cast<u64>(__builtin_amdgcn_dispatch_ptr()) & ~4095ull;
    return reinterpret_cast<unsigned **>(structure)[1];
}

// Overwrites the packets that follow.
extern "C" __global__ void erase_packets(unsigned count) {
    for (unsigned i = 0; i < count; i++) ring()[16 * i] = 1;
}

// Sets the packets' signals to values that no wait expects.
extern "C" __global__ void spoil_signals(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        long *signal = reinterpret_cast<long **>(ring() + 16 * i)[7];
        if (signal) signal[1] = 1l << 60;
    }
}

// Claims that more packets were written than fit.
extern "C" __global__ void move_indices() {
    u64 *structure = reinterpret_cast<u64 *>(reinterpret_cast<u64>(__builtin_amdgcn_dispatch_ptr()) & ~4095ull);
    for (unsigned i = 0; i < 32; i++) structure[i] = ~0ull;
}
