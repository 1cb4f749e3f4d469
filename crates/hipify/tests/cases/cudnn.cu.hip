#include <hipDNN.h>
void convolve() {
  hipdnnHandle_t handle;
  hipdnnCreate(&handle);
  hipdnnTensorDescriptor_t tensor;
  hipdnnSetTensor4dDescriptor(tensor, HIPDNN_TENSOR_NCHW, HIPDNN_DATA_FLOAT, 1, 3, 224, 224);
  hipdnnConvolutionForward(handle, &one, x, xd, w, wd, conv, algo, work, size, &zero, y, yd);
  cudnnTransformFilter(handle, t, &one, f, x, &zero, g, y);
}
