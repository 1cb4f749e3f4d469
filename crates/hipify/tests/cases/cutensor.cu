#include <cutensor.h>
void contract() {
  cutensorHandle_t handle;
  cutensorCreate(&handle);
  cutensorContract(handle, plan, &alpha, a, b, &beta, c, d, work, size, stream);
}
