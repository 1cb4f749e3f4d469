#include <hiptensor/hiptensor.h>
void contract() {
  hiptensorHandle_t handle;
  hiptensorCreate(&handle);
  hiptensorContract(handle, plan, &alpha, a, b, &beta, c, d, work, size, stream);
}
