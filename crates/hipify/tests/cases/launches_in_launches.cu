// OPTIONS: hip-launches
#include <cuda_runtime.h>
void f() {
  a<x(b<<<1, 2>>>(c))><<<3, 4>>>();
  d<<<1>>>(e);
}
