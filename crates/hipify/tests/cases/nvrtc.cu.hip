#include <hip/hiprtc.h>
const char* source = R"cu(
#include <hip/hip_fp16.h>
extern "C" __global__ void half_sum(const __half* x, float* y) {  // hipMalloc is no device function
  y[0] = __half2float(x[0]);
}
)cu";
const char* pieces = "#include <hip/hip_runtime.h>\n"
                     "#include \"hip/hip_fp16.h\"\n"
                     "__global__ void k() { hipStreamSynchronize(0); }\n";
const char* names[] = {"hip/hip_fp16.h", "no/cuda_fp16.h"};
void compile() {
  hiprtcProgram program;
  hiprtcCreateProgram(&program, source, "half.cu", 0, nullptr, nullptr);
  if (hiprtcCompileProgram(program, 0, nullptr) != HIPRTC_SUCCESS) puts(hiprtcGetErrorString(r));
  hiprtcGetCodeSize(program, &size);
  nvrtcGetOptiXIR(program, ir);
}
