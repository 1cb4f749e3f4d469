// A kernel writes to unmapped memory. The program gets the error code, and standard error the report.
#include "check.h"

__global__ void strays(int* nowhere) { nowhere[threadIdx.x] = 1; }

__global__ void works(int* out) { *out = 17; }

int main() {
    strays<<<1, 1>>>((int*)0x1000);
    OK(hipGetLastError());
    EXPECT_CODE(hipDeviceSynchronize(), hipErrorIllegalAddress);
    EXPECT_CODE(hipGetLastError(), hipErrorIllegalAddress);
    // The default stream works again once the error has been returned.
    int *out, value;
    OK(hipMalloc(&out, sizeof *out));
    works<<<1, 1>>>(out);
    OK(hipMemcpy(&value, out, sizeof value, hipMemcpyDeviceToHost));
    EXPECT(value == 17);
    return 0;
}
