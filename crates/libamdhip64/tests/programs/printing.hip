// Output of device code is in order with the host's, and a program that ends without waiting loses none of it.
#include "check.h"

__global__ void say(int number) {
    if (threadIdx.x == 3) printf("device %d of %s: %5.2f\n", number, "four", number / 4.0);
}

int main() {
    printf("host before\n");
    say<<<1, 8>>>(1);
    OK(hipDeviceSynchronize());
    printf("host between\n");
    say<<<1, 8>>>(2);
    OK(hipDeviceSynchronize());
    printf("host after\n");
    say<<<1, 8>>>(3);
    return 0;
}
