// OPTIONS: hip-launches
#include <cuda_runtime.h>
void f() {
  kernel
      <<<grid,
         block>>>(a,
                  b);
  kernel<float,
         4><<<  // how many
      (n + 255) / 256, /* each */ 256,
      sizeof(float) * 256  // shared
      >>>
      (  // the arguments
          a, b);
  kernel<<<
      grid, block
  >>>();
  kernel<<<grid, block>>>(
  );
}
