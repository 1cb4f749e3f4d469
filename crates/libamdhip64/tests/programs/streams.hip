// Streams, events and host functions in stream order. Compiled a second time with per-thread default streams.
#include "check.h"
#include <pthread.h>

__global__ void step(unsigned* value, unsigned factor, unsigned rounds) {
    unsigned v = *value;
    for (unsigned i = 0; i < rounds; i++) v = v * factor + i;
    *value = v;
}

static unsigned stepped(unsigned v, unsigned factor, unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++) v = v * factor + i;
    return v;
}

static unsigned called;

static void callback(hipStream_t, hipError_t status, void* data) {
    called = status == hipSuccess ? *(unsigned*)data : 0;
}

static void host_function(void* data) { *(unsigned*)data += 1; }

// The thread's default stream, whichever it is, keeps its order and can be waited for.
static void* on_another_thread(void* data) {
    unsigned* value = (unsigned*)data;
    unsigned first = 3, last;
    OK(hipMemcpy(value, &first, sizeof first, hipMemcpyHostToDevice));
    step<<<1, 1>>>(value, 5, 100);
    OK(hipMemcpyAsync(&last, value, sizeof last, hipMemcpyDeviceToHost, nullptr));
    OK(hipStreamSynchronize(nullptr));
    EXPECT(last == stepped(3, 5, 100));
    return nullptr;
}

int main() {
    hipStream_t one, two;
    hipEvent_t start, stop, between;
    OK(hipStreamCreate(&one));
    OK(hipStreamCreateWithFlags(&two, hipStreamNonBlocking));
    OK(hipEventCreate(&start));
    OK(hipEventCreate(&stop));
    OK(hipEventCreateWithFlags(&between, hipEventDisableTiming));
    unsigned *value, *last;
    OK(hipMalloc(&value, sizeof *value));
    OK(hipHostMalloc(&last, sizeof *last));
    OK(hipMemsetAsync(value, 0, sizeof *value, one));
    OK(hipEventRecord(start, one));
    step<<<1, 1, 0, one>>>(value, 3, 1000);
    OK(hipEventRecord(between, one));
    OK(hipStreamWaitEvent(two, between, 0));
    step<<<1, 1, 0, two>>>(value, 7, 1000);
    OK(hipEventRecord(stop, two));
    OK(hipMemcpyAsync(last, value, sizeof *last, hipMemcpyDeviceToHost, two));
    OK(hipStreamAddCallback(two, callback, last, 0));
    unsigned counted = 41;
    OK(hipLaunchHostFunc(two, host_function, &counted));
    OK(hipStreamSynchronize(two));
    unsigned expected = stepped(stepped(0, 3, 1000), 7, 1000);
    EXPECT(*last == expected && called == expected && counted == 42);
    float milliseconds = -1;
    OK(hipEventElapsedTime(&milliseconds, start, stop));
    EXPECT(milliseconds > 0 && milliseconds < 60000);
    OK(hipEventQuery(stop));
    EXPECT_CODE(hipEventElapsedTime(&milliseconds, start, between), hipErrorInvalidHandle);
    EXPECT(hipGetStreamDeviceId(one) == 0);

    pthread_t thread;
    EXPECT(pthread_create(&thread, nullptr, on_another_thread, value) == 0);
    EXPECT(pthread_join(thread, nullptr) == 0);

    OK(hipEventDestroy(start));
    OK(hipEventDestroy(stop));
    OK(hipEventDestroy(between));
    OK(hipStreamDestroy(one));
    OK(hipStreamDestroy(two));
    OK(hipFree(value));
    OK(hipHostFree(last));
    return 0;
}
