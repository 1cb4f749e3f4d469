#include <nvrtc.h>
const char* source = R"cu(
#include <cuda_fp16.h>
extern "C" __global__ void half_sum(const __half* x, float* y) {  // cudaMalloc is no device function
  y[0] = __half2float(x[0]);
}
)cu";
const char* pieces = "#include <cuda_runtime.h>\n"
                     "#include \"cuda_fp16.h\"\n"
                     "__global__ void k() { cudaStreamSynchronize(0); }\n";
const char* names[] = {"cuda_fp16.h", "no/cuda_fp16.h"};
void compile() {
  nvrtcProgram program;
  nvrtcCreateProgram(&program, source, "half.cu", 0, nullptr, nullptr);
  if (nvrtcCompileProgram(program, 0, nullptr) != NVRTC_SUCCESS) puts(nvrtcGetErrorString(r));
  nvrtcGetPTXSize(program, &size);
  nvrtcGetOptiXIR(program, ir);
}
