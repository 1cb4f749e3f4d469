// A library with its own device code is loaded, used and unloaded while the program runs. Its path is the argument.
// Kernel and variable have the same names in both.
#include "check.h"
#include <dlfcn.h>

static __device__ int base = 1000;

__global__ void work(int* out) { *out = base + 1; }

static int run() {
    int *out, value = 0;
    OK(hipMalloc(&out, sizeof *out));
    work<<<1, 1>>>(out);
    OK(hipGetLastError());
    OK(hipMemcpy(&value, out, sizeof value, hipMemcpyDeviceToHost));
    OK(hipFree(out));
    return value;
}

int main(int, char** arguments) {
    EXPECT(run() == 1001);
    for (int round = 0; round < 3; round++) {
        void* plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        if (!plugin) fprintf(stderr, "%s\n", dlerror());
        EXPECT(plugin);
        auto run_plugin = (int (*)(int))dlsym(plugin, "run_plugin");
        EXPECT(run_plugin);
        // Its variables are initialised again each time.
        EXPECT(run_plugin(5) == 2005 && run_plugin(6) == 2011);
        EXPECT(run() == 1001);
        EXPECT(dlclose(plugin) == 0);
        EXPECT(run() == 1001);
    }
    return 0;
}
