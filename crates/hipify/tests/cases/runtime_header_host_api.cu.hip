
#include "hip/hip_runtime_api.h"
int main() { return hipDeviceSynchronize(); }
