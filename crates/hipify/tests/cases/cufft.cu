#include <cufft.h>
#include <cufftXt.h>
void transform(cufftComplex* data) {
  cufftHandle plan;
  if (cufftPlan1d(&plan, 256, CUFFT_C2C, 1) != CUFFT_SUCCESS) return;
  cufftExecC2C(plan, data, data, CUFFT_FORWARD);
  cufftExecC2C(plan, data, data, CUFFT_INVERSE);
  cufftDestroy(plan);
}
