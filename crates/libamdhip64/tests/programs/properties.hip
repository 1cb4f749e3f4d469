// Device properties in today's layout and in HIP 5's, each from the function that fills it.
#include "check.h"
#include <cstddef>
#include <cstring>

// The layout that HIP 5 documents.
struct OldProperties {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int clockRate, memoryClockRate, memoryBusWidth;
    size_t totalConstMem;
    int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode;
    int clockInstructionRate;
    unsigned arch;
    int concurrentKernels, pciDomainID, pciBusID, pciDeviceID;
    size_t maxSharedMemoryPerMultiProcessor;
    int isMultiGpuBoard, canMapHostMemory, gcnArch;
    char gcnArchName[256];
    int integrated, cooperativeLaunch, cooperativeMultiDeviceLaunch;
    int maxTexture1DLinear, maxTexture1D, maxTexture2D[2], maxTexture3D[3];
    unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
    size_t memPitch, textureAlignment, texturePitchAlignment;
    int kernelExecTimeoutEnabled, ECCEnabled, tccDriver;
    int cooperativeMultiDeviceUnmatchedFunc, cooperativeMultiDeviceUnmatchedGridDim;
    int cooperativeMultiDeviceUnmatchedBlockDim, cooperativeMultiDeviceUnmatchedSharedMem;
    int isLargeBar, asicRevision, managedMemory, directManagedMemAccessFromHost;
    int concurrentManagedAccess, pageableMemoryAccess, pageableMemoryAccessUsesHostPageTables;
};

extern "C" hipError_t hipGetDevicePropertiesR0000(OldProperties*, int);
extern "C" hipError_t old_get_device_properties(OldProperties*, int) __asm__("hipGetDeviceProperties");
extern "C" hipError_t old_choose_device(int*, const OldProperties*) __asm__("hipChooseDevice");

int main() {
    static_assert(sizeof(OldProperties) == 792, "the old layout");
    hipDeviceProp_t now;
    OK(hipGetDeviceProperties(&now, 0));
    struct {
        OldProperties properties;
        unsigned char behind[64];
    } old, other;
    memset(&old, 0xa5, sizeof old);
    OK(old_get_device_properties(&old.properties, 0));
    for (unsigned char byte : old.behind) EXPECT(byte == 0xa5);
    EXPECT(strcmp(old.properties.name, now.name) == 0);
    EXPECT(strcmp(old.properties.gcnArchName, now.gcnArchName) == 0);
    EXPECT(old.properties.totalGlobalMem == now.totalGlobalMem);
    EXPECT(old.properties.warpSize == now.warpSize);
    EXPECT(old.properties.multiProcessorCount == now.multiProcessorCount);
    EXPECT(old.properties.maxThreadsDim[2] == now.maxThreadsDim[2]);
    EXPECT(old.properties.managedMemory == now.managedMemory);
    // The number that HIP 5 has for the processor: gfx90a is 910, gfx1100 is 1100.
    unsigned processor = strtoul(now.gcnArchName + 3, nullptr, 16);
    unsigned major = now.gcnArchName[3] == '9' ? 9 : 0;
    if (!major) EXPECT(old.properties.gcnArch == (int)(atoi(now.gcnArchName + 3)));
    if (processor == 0x90a) EXPECT(old.properties.gcnArch == 910);
    OK(hipGetDevicePropertiesR0000(&other.properties, 0));
    EXPECT(strcmp(other.properties.name, now.name) == 0);
    EXPECT(other.properties.gcnArch == old.properties.gcnArch);
    EXPECT(other.properties.pageableMemoryAccessUsesHostPageTables == now.pageableMemoryAccessUsesHostPageTables);
    int device = -1;
    OK(old_choose_device(&device, &old.properties));
    EXPECT(device == 0);
    EXPECT_CODE(hipGetDeviceProperties(&now, -1), hipErrorInvalidDevice);
    EXPECT_CODE(old_get_device_properties(&old.properties, 99), hipErrorInvalidDevice);
    return 0;
}
