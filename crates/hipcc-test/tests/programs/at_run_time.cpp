// NVRTC: kernels that are compiled when the program runs, and loaded by the driver's functions.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <nvrtc.h>
#include <string>
#include <vector>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            std::printf("line %d: %s\n", __LINE__, #what); \
            std::exit(1); \
        } \
    } while (0)
#define NVRTC(call) CHECK((call) == NVRTC_SUCCESS)
#define CU(call) CHECK((call) == CUDA_SUCCESS)

static const char *const source = R"(
#include "beside.h"
#include "of_option.h"
#include "given.h"
#include <cuda_fp16.h>
#include <cooperative_groups.h>
template <typename Number, int by>
__global__ void scale(Number *numbers, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) numbers[i] = numbers[i] * Number(by) + Number(BESIDE + OF_OPTION + GIVEN + DEFINED);
}
__constant__ float factor = 3;
extern "C" __global__ void lanes(unsigned *out) {
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    assert(lane < 32);
    const auto warp = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
    unsigned sum = lane;
    for (int step = 16; step > 0; step /= 2) sum += warp.shfl_xor(sum, step);
    out[threadIdx.x] = sum + unsigned(__half2float(__float2half(factor)));
}
)";

static std::string log_of(nvrtcProgram program) {
    size_t size;
    NVRTC(nvrtcGetProgramLogSize(program, &size));
    std::string log(size, '?');
    NVRTC(nvrtcGetProgramLog(program, &log[0]));
    CHECK(size > 0 && log.back() == 0);
    log.pop_back();
    return log;
}

static void launch(CUfunction kernel, unsigned blocks, unsigned threads, std::vector<void *> arguments) {
    CU(cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, nullptr, arguments.data(), nullptr));
    CU(cuCtxSynchronize());
}

static void runs(CUmodule module, const std::string &scale_name, const std::string &factor_name) {
    constexpr int count = 100;
    CUfunction scale, lanes;
    CU(cuModuleGetFunction(&scale, module, scale_name.c_str()));
    CU(cuModuleGetFunction(&lanes, module, "lanes"));
    std::vector<float> numbers(count);
    for (int i = 0; i < count; i++) numbers[i] = float(i);
    CUdeviceptr device;
    CU(cuMemAlloc(&device, count * sizeof(float)));
    CU(cuMemcpyHtoD(device, numbers.data(), count * sizeof(float)));
    int size = count;
    launch(scale, 4, 32, {&device, &size});
    CU(cuMemcpyDtoH(numbers.data(), device, count * sizeof(float)));
    for (int i = 0; i < count; i++) CHECK(numbers[i] == float(5 * i + 40 + 2 + 100 + 1000));

    CUdeviceptr factor;
    size_t bytes;
    CU(cuModuleGetGlobal(&factor, &bytes, module, factor_name.c_str()));
    const float four = 4;
    CHECK(bytes == sizeof four);
    CU(cuMemcpyHtoD(factor, &four, sizeof four));
    unsigned sums[64];
    launch(lanes, 1, 64, {&device});
    CU(cuMemcpyDtoH(sums, device, sizeof sums));
    for (const unsigned sum : sums) CHECK(sum == 31 * 32 / 2 + 4);
    CU(cuMemFree(device));
}

static int ask(void *payload, void *) { return ++*static_cast<int *>(payload) > 2; }

int main() {
    int major, minor, count;
    NVRTC(nvrtcVersion(&major, &minor));
    CHECK(major * 1000 + minor * 10 == CUDA_VERSION);
    NVRTC(nvrtcGetNumSupportedArchs(&count));
    std::vector<int> known(count);
    NVRTC(nvrtcGetSupportedArchs(known.data()));
    CHECK(known.front() == 50 && known.back() == 120);
    CHECK(!std::strcmp(nvrtcGetErrorString(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION"));

    CUdevice device;
    CUcontext context;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate(&context, 0, device));

    const char *texts[] = {"#define GIVEN 100\n"}, *names[] = {"given.h"};
    nvrtcProgram program;
    NVRTC(nvrtcCreateProgram(&program, source, "kernels.cu", 1, texts, names));
    std::string type;
    NVRTC(nvrtcGetTypeName<float>(&type));
    const std::string expression = "scale<" + type + ", 5>";
    const char *lowered;
    NVRTC(nvrtcAddNameExpression(program, expression.c_str()));
    NVRTC(nvrtcAddNameExpression(program, "&factor"));
    CHECK(nvrtcGetLoweredName(program, expression.c_str(), &lowered) == NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
    size_t size;
    CHECK(nvrtcGetCUBINSize(program, &size) == NVRTC_ERROR_INVALID_PROGRAM);
    int asked = 0;
    NVRTC(nvrtcSetFlowCallback(program, ask, &asked));
    // Options in the spellings of NVRTC's documentation. The architectures of NVIDIA's name no target here.
    const char *options[] = {"--gpu-architecture=compute_80", "-Iinclude", "-D", "DEFINED=1000", "--std=c++17", "-default-device",
                             "--fmad=false", "--use_fast_math", "-lineinfo", "--maxrregcount=32"};
    const nvrtcResult compiled = nvrtcCompileProgram(program, sizeof options / sizeof *options, options);
    if (compiled != NVRTC_SUCCESS) std::puts(log_of(program).c_str());
    NVRTC(compiled);
    CHECK(asked == 2 && log_of(program).empty());
    CHECK(nvrtcAddNameExpression(program, "lanes") == NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
    CHECK(nvrtcGetLoweredName(program, "scale<int, 5>", &lowered) == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
    NVRTC(nvrtcGetLoweredName(program, expression.c_str(), &lowered));
    const std::string scale = lowered;
    NVRTC(nvrtcGetLoweredName(program, "&factor", &lowered));
    const std::string factor = lowered;

    NVRTC(nvrtcGetCUBINSize(program, &size));
    std::vector<char> cubin(size);
    NVRTC(nvrtcGetCUBIN(program, cubin.data()));
    NVRTC(nvrtcGetPTXSize(program, &size));
    std::string ptx(size, '?');
    NVRTC(nvrtcGetPTX(program, &ptx[0]));
    CHECK(ptx.size() == std::strlen(ptx.c_str()) + 1);
    NVRTC(nvrtcGetLTOIRSize(program, &size));
    CHECK(size == 0 && nvrtcGetPCHCreateStatus(program) == NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED);
    // The next compilation is cancelled.
    CHECK(nvrtcCompileProgram(program, sizeof options / sizeof *options, options) == NVRTC_ERROR_CANCELLED);
    NVRTC(nvrtcDestroyProgram(&program));
    CHECK(program == nullptr && nvrtcDestroyProgram(&program) == NVRTC_ERROR_INVALID_PROGRAM);

    CUmodule module;
    CU(cuModuleLoadData(&module, cubin.data()));
    runs(module, scale, factor);
    CU(cuModuleUnload(module));
    CU(cuModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr));
    runs(module, scale, factor);
    CU(cuModuleUnload(module));

    // What is wrong is told, with the program's own line numbers.
    NVRTC(nvrtcCreateProgram(&program, "__global__ void k() {\n  none();\n}\n", "wrong.cu", 0, nullptr, nullptr));
    CHECK(nvrtcCompileProgram(program, 0, nullptr) == NVRTC_ERROR_COMPILATION);
    const std::string log = log_of(program);
    if (log.find("wrong.cu:2:3: error:") == std::string::npos) std::puts(log.c_str());
    CHECK(log.find("wrong.cu:2:3: error:") != std::string::npos);
    const char *unknown[] = {"--no-such-option"};
    CHECK(nvrtcCompileProgram(program, 1, unknown) != NVRTC_SUCCESS && !log_of(program).empty());
    NVRTC(nvrtcDestroyProgram(&program));
    CHECK(nvrtcCompileProgram(reinterpret_cast<nvrtcProgram>(12345), 0, nullptr) == NVRTC_ERROR_INVALID_PROGRAM);
    CU(cuCtxDestroy(context));
    std::puts("PASSED");
}
