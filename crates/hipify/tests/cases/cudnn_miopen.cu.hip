// OPTIONS: miopen
#include <miopen/miopen.h>
void convolve() {
  miopenHandle_t handle;
  miopenCreate(&handle);
  miopenTensorDescriptor_t tensor;
  hipdnnSetTensor4dDescriptor(tensor, miopenTensorNCHW, miopenFloat, 1, 3, 224, 224);
  miopenConvolutionForward(handle, &one, x, xd, w, wd, conv, algo, work, size, &zero, y, yd);
  cudnnTransformFilter(handle, t, &one, f, x, &zero, g, y);
}
