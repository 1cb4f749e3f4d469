// The driver's API, in which addresses of a GPU's memory are numbers.
#include <cuda.h>
#include <cstdint>
#include <cstdio>

#define OK(CALL)                                                      \
    do {                                                              \
        CUresult status = (CALL);                                     \
        if (status != CUDA_SUCCESS) {                                 \
            printf("line %d: %s: %d\n", __LINE__, #CALL, int(status)); \
            return 1;                                                 \
        }                                                             \
    } while (0)
#define EXPECT(CONDITION)                                    \
    do {                                                     \
        if (!(CONDITION)) {                                  \
            printf("line %d: not %s\n", __LINE__, #CONDITION); \
            return 1;                                        \
        }                                                    \
    } while (0)

static_assert(sizeof(CUdeviceptr) == 8 && CUdeviceptr(-1) > 0, "a number without a sign");

__global__ void count(CUdeviceptr numbers, int n) {
    if (threadIdx.x < n) reinterpret_cast<int *>(numbers)[threadIdx.x] += 1;
}

// Overloads by what an address is.
static int kind(unsigned long long) { return 1; }
static int kind(void *) { return 2; }

int main() {
    OK(cuInit(0));
    CUdevice device;
    CUcontext context;
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate(&context, 0, device));
    int host[64];
    CUdeviceptr a = 0, b = 0;
    OK(cuMemAlloc(&a, 1024));
    OK(cuMemAlloc_v2(&b, 1024));
    EXPECT(kind(a) == 1 && a != 0 && a % 4 == 0);
    OK(cuMemsetD32(a, 7, 64));
    OK(cuMemsetD32(a + 64, 9, 16));
    OK(cuMemcpyDtoD(b + 128, a, 256));
    OK(cuMemcpyDtoH(host, b + 128, 256));
    EXPECT(host[0] == 7 && host[16] == 9 && host[31] == 9 && host[32] == 7);
    // Structures have numbers, too.
    CUDA_MEMCPY2D plane = {};
    plane.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    plane.srcDevice = a + 64;
    plane.srcPitch = 64;
    plane.dstMemoryType = CU_MEMORYTYPE_HOST;
    plane.dstHost = host;
    plane.dstPitch = plane.WidthInBytes = 64;
    plane.Height = 1;
    OK(cuMemcpy2D(&plane));
    EXPECT(host[0] == 9 && host[15] == 9);
    CUDA_MEMCPY3D box = {};
    box.srcMemoryType = CU_MEMORYTYPE_HOST;
    box.srcHost = host;
    box.srcPitch = box.dstPitch = box.WidthInBytes = 16;
    box.srcHeight = box.dstHeight = box.Height = 2;
    box.Depth = 2;
    box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.dstDevice = b;
    OK(cuMemcpy3D(&box));
    OK(cuMemcpyDtoH(host + 32, b, 64));
    EXPECT(host[32] == 9 && host[47] == 9);
    CUdeviceptr base = 0;
    size_t size = 0;
    OK(cuMemGetAddressRange(&base, &size, a + 100));
    EXPECT(base == a && size == 1024);
    count<<<1, 32>>>(a + 64, 16);
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(host, a, 256));
    EXPECT(host[15] == 7 && host[16] == 10 && host[31] == 10 && host[32] == 7);
    unsigned type = 0;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 4));
    EXPECT(type == CU_MEMORYTYPE_DEVICE);
    // A graph's fill of a part.
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    OK(cuGraphCreate(&graph, 0));
    CUDA_MEMSET_NODE_PARAMS fill = {};
    fill.dst = a + 8;
    fill.elementSize = 4;
    fill.value = 3;
    fill.width = 2;
    fill.height = 1;
    OK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, context));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, 0));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(host, a, 20));
    EXPECT(host[1] == 7 && host[2] == 3 && host[3] == 3 && host[4] == 7);
    // Sizes of blocks, with shared memory of any block, or of each size.
    CUfunction function = nullptr;
    OK(CUresult(cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(count))));
    int grid = 0, block = 0;
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 128));
    EXPECT(grid > 0 && block == 128);
    auto each = [](int threads) { return size_t(threads) * 256; };
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, each, 0, 0));
    EXPECT(grid > 0 && block > 0 && block % 32 == 0 && block <= 256);
    // Functions have addresses, and CUDA's types.
    CUresult (*allocate)(CUdeviceptr *, size_t) = cuMemAlloc;
    CUdeviceptr other = 0;
    OK(allocate(&other, 16));
    OK(cuMemFree(other));
    OK(cuMemFree_v2(b));
    void *pointer = reinterpret_cast<void *>(a);
    OK(cuMemFree(reinterpret_cast<CUdeviceptr>(pointer)));
    EXPECT(cuMemFree(a) == CUDA_ERROR_INVALID_VALUE);
    printf("PASSED\n");
}
