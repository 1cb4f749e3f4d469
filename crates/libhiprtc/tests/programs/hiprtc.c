// A program that compiles kernels at run time. With the argument `broken`, every function must fail. With `endless`, a compilation
// must be ended, and its log is printed.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The declarations of AMD's headers that are used below.
typedef struct _hiprtcProgram* hiprtcProgram;
typedef struct ihiprtcLinkState* hiprtcLinkState;
typedef struct ihipModule_t* hipModule_t;
typedef struct ihipModuleSymbol_t* hipFunction_t;
enum { ok = 0, invalidInput = 3, compilation = 6, internal = 11, linking = 100 };
enum { jitErrorLog = 5, jitErrorLogSize = 6, inputBitcode = 100, inputBundle = 101, inputObject = 3, deviceToHost = 2 };
int hiprtcVersion(int*, int*);
const char* hiprtcGetErrorString(int);
int hiprtcCreateProgram(hiprtcProgram*, const char*, const char*, int, const char**, const char**);
int hiprtcCompileProgram(hiprtcProgram, int, const char**);
int hiprtcDestroyProgram(hiprtcProgram*);
int hiprtcGetProgramLogSize(hiprtcProgram, size_t*);
int hiprtcGetProgramLog(hiprtcProgram, char*);
int hiprtcGetCodeSize(hiprtcProgram, size_t*);
int hiprtcGetCode(hiprtcProgram, char*);
int hiprtcGetBitcodeSize(hiprtcProgram, size_t*);
int hiprtcGetBitcode(hiprtcProgram, char*);
int hiprtcLinkCreate(unsigned, int*, void**, hiprtcLinkState*);
int hiprtcLinkAddFile(hiprtcLinkState, int, const char*, unsigned, int*, void**);
int hiprtcLinkAddData(hiprtcLinkState, int, void*, size_t, const char*, unsigned, int*, void**);
int hiprtcLinkComplete(hiprtcLinkState, void**, size_t*);
int hiprtcLinkDestroy(hiprtcLinkState);
int hipInit(unsigned);
int hipMalloc(void**, size_t);
int hipFree(void*);
int hipMemcpy(void*, const void*, size_t, int);
int hipDeviceSynchronize(void);
int hipModuleLoadData(hipModule_t*, const void*);
int hipModuleUnload(hipModule_t);
int hipModuleGetFunction(hipFunction_t*, hipModule_t, const char*);
int hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);

#define CHECK(expected, call)                                                              \
    do {                                                                                   \
        int got = (call);                                                                  \
        if (got != (expected)) {                                                           \
            printf("line %d: %s is %d, not %d\n", __LINE__, #call, got, (int)(expected)); \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

static hiprtcProgram create(const char* source) {
    hiprtcProgram program = NULL;
    CHECK(ok, hiprtcCreateProgram(&program, source, "program.hip", 0, NULL, NULL));
    return program;
}

static void show_log(hiprtcProgram program) {
    size_t size = 0;
    CHECK(ok, hiprtcGetProgramLogSize(program, &size));
    char* log = malloc(size);
    CHECK(ok, hiprtcGetProgramLog(program, log));
    printf("%s", log);
    free(log);
}

// Launches the kernel `k` of some code, which must write `expected`.
static void launch(const void* code, int expected) {
    hipModule_t module;
    hipFunction_t function;
    int* device = NULL;
    int host = -1;
    CHECK(ok, hipModuleLoadData(&module, code));
    CHECK(ok, hipModuleGetFunction(&function, module, "k"));
    CHECK(ok, hipMalloc((void**)&device, sizeof host));
    void* arguments[] = {&device};
    CHECK(ok, hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CHECK(ok, hipDeviceSynchronize());
    CHECK(ok, hipMemcpy(&host, device, sizeof host, deviceToHost));
    CHECK(expected, host);
    CHECK(ok, hipFree(device));
    CHECK(ok, hipModuleUnload(module));
}

static char* bitcode(const char* source, size_t* size) {
    const char* options[] = {"-fgpu-rdc"};
    hiprtcProgram program = create(source);
    int status = hiprtcCompileProgram(program, 1, options);
    if (status != ok) show_log(program);
    CHECK(ok, status);
    CHECK(ok, hiprtcGetBitcodeSize(program, size));
    char* bytes = malloc(*size);
    CHECK(ok, hiprtcGetBitcode(program, bytes));
    CHECK(ok, hiprtcDestroyProgram(&program));
    return bytes;
}

static void link_modules(void) {
    size_t sizes[2], size = 0;
    char* modules[2] = {
        bitcode("extern __device__ int twice(int);\nextern \"C\" __global__ void k(int* p) { *p = twice(21); }\n", &sizes[0]),
        bitcode("__device__ int twice(int x) { return 2 * x; }\n", &sizes[1]),
    };
    char log[4096] = "";
    int options[] = {jitErrorLog, jitErrorLogSize};
    void* values[] = {log, (void*)sizeof log};
    hiprtcLinkState state = NULL;
    void* code = NULL;

    // A single one lacks a function, and the log names it.
    CHECK(ok, hiprtcLinkCreate(2, options, values, &state));
    CHECK(linking, hiprtcLinkComplete(state, &code, &size));
    CHECK(ok, hiprtcLinkAddData(state, inputBitcode, modules[0], sizes[0], "a", 0, NULL, NULL));
    CHECK(linking, hiprtcLinkComplete(state, &code, &size));
    if (!strstr(log, "twice")) {
        printf("the log of the linker: %s\n", log);
        exit(1);
    }
    // Both together, one of them in a file.
    FILE* file = fopen("twice.bc", "wb");
    CHECK(1, (int)fwrite(modules[1], sizes[1], 1, file));
    fclose(file);
    CHECK(ok, hiprtcLinkAddFile(state, inputBitcode, "twice.bc", 0, NULL, NULL));
    CHECK(ok, hiprtcLinkComplete(state, &code, &size));
    launch(code, 42);

    CHECK(invalidInput, hiprtcLinkAddData(state, inputObject, modules[0], sizes[0], "a", 0, NULL, NULL));
    CHECK(invalidInput, hiprtcLinkAddData(state, inputBitcode, "\xff\xfe", 2, "a", 0, NULL, NULL));
    CHECK(invalidInput, hiprtcLinkAddData(state, inputBitcode, NULL, 4, "a", 0, NULL, NULL));
    CHECK(2, hiprtcLinkAddFile(state, inputBitcode, "no such file", 0, NULL, NULL));
    CHECK(ok, hiprtcLinkDestroy(state));
    CHECK(invalidInput, hiprtcLinkDestroy(state));
    CHECK(invalidInput, hiprtcLinkComplete(state, &code, &size));
    CHECK(invalidInput, hiprtcLinkCreate(0, NULL, NULL, NULL));
    free(modules[0]);
    free(modules[1]);
}

int main(int count, char** arguments) {
    const char* mode = count > 1 ? arguments[1] : "";
    if (!strcmp(mode, "broken")) {
        hiprtcProgram program = NULL;
        CHECK(internal, hiprtcCreateProgram(&program, "", "", 0, NULL, NULL));
        CHECK(internal, hiprtcCompileProgram(program, 0, NULL));
        puts("done");
        return 0;
    }
    if (!strcmp(mode, "endless")) {
        hiprtcProgram program = create(
            "template <int D, long P> struct T { T<D - 1, 2 * P> a; T<D - 1, 2 * P + 1> b; };\n"
            "template <long P> struct T<0, P> { char c; };\n"
            "extern \"C\" __global__ void k(int* p) { *p = sizeof(T<40, 1>); }\n");
        CHECK(compilation, hiprtcCompileProgram(program, 0, NULL));
        show_log(program);
        return 0;
    }
    int major = 0, minor = 0;
    CHECK(ok, hiprtcVersion(&major, &minor));
    CHECK(0, strcmp(hiprtcGetErrorString(compilation), "HIPRTC_ERROR_COMPILATION"));
    CHECK(ok, hipInit(0));
    // For the current device: no option names a target.
    hiprtcProgram program = create("extern \"C\" __global__ void k(int* p) { *p = 7; }\n");
    int status = hiprtcCompileProgram(program, 0, NULL);
    if (status != ok) show_log(program);
    CHECK(ok, status);
    size_t size = 0;
    CHECK(ok, hiprtcGetCodeSize(program, &size));
    char* code = malloc(size);
    CHECK(ok, hiprtcGetCode(program, code));
    launch(code, 7);
    free(code);
    CHECK(ok, hiprtcDestroyProgram(&program));
    link_modules();
    puts("done");
    return 0;
}
