// OPTIONS: hip-launches
#include <hip/hip_runtime.h>
void f() {
  hipLaunchKernelGGL(kernel,
      dim3(grid),
         dim3(block), 0, 0, a,
                  b);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(kernel<float,
         4>),  // how many
      dim3((n + 255) / 256), /* each */ dim3(256),
      sizeof(float) * 256  // shared
      , 0,
        // the arguments
          a, b);
  hipLaunchKernelGGL(kernel,
      dim3(grid), dim3(block)
  , 0, 0);
  hipLaunchKernelGGL(kernel, dim3(grid), dim3(block), 0, 0
  );
}
