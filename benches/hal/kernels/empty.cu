// A kernel that does nothing, so that measurements show the cost of running it.

extern "C" __global__ void nothing(int *unused) {}
