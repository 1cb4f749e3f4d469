// A device library that faults.

extern "C" __global__ void hal_schedule(void *control) { __builtin_trap(); }
