#include <hip/hip_runtime.h>
cudaMallo xcudaMalloc cudaMalloc_ hipMalloc$ a.hipMalloc hipMalloc
#define hipMalloc my_malloc
#define PASTE(x) cuda##x
cuda.h
int hipMalloc = 0; void* callback;
