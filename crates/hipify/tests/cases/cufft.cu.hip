#include <hipfft/hipfft.h>
#include <hipfft/hipfftXt.h>
void transform(hipfftComplex* data) {
  hipfftHandle plan;
  if (hipfftPlan1d(&plan, 256, HIPFFT_C2C, 1) != HIPFFT_SUCCESS) return;
  hipfftExecC2C(plan, data, data, HIPFFT_FORWARD);
  hipfftExecC2C(plan, data, data, HIPFFT_BACKWARD);
  hipfftDestroy(plan);
}
