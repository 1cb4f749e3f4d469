#include <cudnn.h>
void convolve() {
  cudnnHandle_t handle;
  cudnnCreate(&handle);
  cudnnTensorDescriptor_t tensor;
  cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 3, 224, 224);
  cudnnConvolutionForward(handle, &one, x, xd, w, wd, conv, algo, work, size, &zero, y, yd);
  cudnnTransformFilter(handle, t, &one, f, x, &zero, g, y);
}
