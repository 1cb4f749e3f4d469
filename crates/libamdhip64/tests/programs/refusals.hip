// Wrong parameters, and the codes that AMD's tests of HIP expect; and what those tests require of asynchronous copies.
#include "check.h"
#include <cstring>

__global__ void hold(unsigned *flag) {
    while (!__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)) __builtin_amdgcn_s_sleep(64);
}

static char *device, *other, *pinned;

static hip_Memcpy2D rectangle() {
    hip_Memcpy2D good = {};
    good.srcMemoryType = good.dstMemoryType = hipMemoryTypeDevice;
    good.srcDevice = device, good.dstDevice = other;
    good.srcPitch = good.dstPitch = 128;
    good.WidthInBytes = 64, good.Height = 16;
    return good;
}

static void refuse_rectangle(void (*spoil)(hip_Memcpy2D &)) {
    hip_Memcpy2D bad = rectangle();
    spoil(bad);
    EXPECT_CODE(hipMemcpyParam2D(&bad), hipErrorInvalidValue);
    EXPECT_CODE(hipMemcpyParam2DAsync(&bad, nullptr), hipErrorInvalidValue);
    EXPECT_CODE(hipDrvMemcpy2DUnaligned(&bad), hipErrorInvalidValue);
}

static void refuse_box(void (*spoil)(HIP_MEMCPY3D &)) {
    HIP_MEMCPY3D bad = {};
    bad.srcMemoryType = bad.dstMemoryType = hipMemoryTypeDevice;
    bad.srcDevice = device, bad.dstDevice = other;
    bad.srcPitch = bad.dstPitch = 128, bad.srcHeight = bad.dstHeight = 16;
    bad.WidthInBytes = 64, bad.Height = 16, bad.Depth = 2;
    EXPECT_CODE(hipDrvMemcpy3D(&bad), hipSuccess);
    spoil(bad);
    EXPECT_CODE(hipDrvMemcpy3D(&bad), hipErrorInvalidValue);
    EXPECT_CODE(hipDrvMemcpy3DAsync(&bad, nullptr), hipErrorInvalidValue);
}

static void refuse_pitched(hipError_t code, void (*spoil)(hipMemcpy3DParms &)) {
    hipMemcpy3DParms bad = {};
    bad.srcPtr = make_hipPitchedPtr(device, 128, 64, 16);
    bad.dstPtr = make_hipPitchedPtr(other, 128, 64, 16);
    bad.extent = make_hipExtent(64, 16, 2);
    bad.kind = hipMemcpyDefault;
    OK(hipMemcpy3D(&bad));
    spoil(bad);
    EXPECT_CODE(hipMemcpy3D(&bad), code);
    EXPECT_CODE(hipMemcpy3DAsync(&bad, nullptr), code);
}

static void copies_described_wrongly() {
    hip_Memcpy2D good = rectangle();
    OK(hipMemcpyParam2D(&good));
    refuse_rectangle([](hip_Memcpy2D &bad) { bad.dstDevice = nullptr; });
    refuse_rectangle([](hip_Memcpy2D &bad) { bad.srcDevice = nullptr; });
    refuse_rectangle([](hip_Memcpy2D &bad) { bad.dstPitch = 63; });
    refuse_rectangle([](hip_Memcpy2D &bad) { bad.srcPitch = 63; });
    refuse_rectangle([](hip_Memcpy2D &bad) { bad.Height = 1, bad.dstPitch = 63; });
    refuse_rectangle([](hip_Memcpy2D &bad) { bad.dstPitch = 1ull << 31; });
    refuse_rectangle([](hip_Memcpy2D &bad) { bad.srcPitch = 1ull << 31; });
    refuse_rectangle([](hip_Memcpy2D &bad) { bad.dstMemoryType = hipMemoryTypeArray; });
    refuse_rectangle([](hip_Memcpy2D &bad) {
        bad.srcMemoryType = bad.dstMemoryType = hipMemoryTypeHost;
        bad.srcHost = pinned, bad.dstHost = pinned + 4096, bad.srcPitch = 63;
    });
    refuse_rectangle([](hip_Memcpy2D &bad) { bad.srcMemoryType = hipMemoryTypeHost; });
    refuse_box([](HIP_MEMCPY3D &bad) { bad.dstPitch = 63; });
    refuse_box([](HIP_MEMCPY3D &bad) { bad.srcPitch = 63; });
    refuse_box([](HIP_MEMCPY3D &bad) { bad.dstHeight = 8; });
    refuse_box([](HIP_MEMCPY3D &bad) { bad.srcDevice = nullptr; });
    refuse_pitched(hipErrorInvalidPitchValue, [](hipMemcpy3DParms &bad) { bad.dstPtr.pitch = 63; });
    refuse_pitched(hipErrorInvalidValue, [](hipMemcpy3DParms &bad) { bad.dstPtr.pitch = 60, bad.dstPtr.xsize = 32; });
    refuse_pitched(hipErrorInvalidValue, [](hipMemcpy3DParms &bad) { bad.extent.width = 200; });
    refuse_pitched(hipErrorInvalidValue, [](hipMemcpy3DParms &bad) { bad.dstPtr.ysize = 8; });
    refuse_pitched(hipErrorInvalidValue, [](hipMemcpy3DParms &bad) { bad.dstPos.x = 65; });
    EXPECT_CODE(hipMemcpy2D(other, 63, device, 128, 64, 16, hipMemcpyDefault), hipErrorInvalidPitchValue);
}

// A copy within a device returns before it is done.
static void copies_that_are_not_waited_for() {
    hip_Memcpy2D parameters = rectangle();
    hipMemcpy3DParms box = {};
    box.srcPtr = make_hipPitchedPtr(device, 128, 64, 16);
    box.dstPtr = make_hipPitchedPtr(other, 128, 64, 16);
    box.extent = make_hipExtent(64, 16, 2);
    box.kind = hipMemcpyDeviceToDevice;
    (void)hipGetLastError();
    unsigned *flag = reinterpret_cast<unsigned *>(pinned);
    *flag = 0;
    hold<<<1, 1>>>(flag);
    OK(hipGetLastError());
    OK(hipMemcpy(other, device, 4096, hipMemcpyDeviceToDevice));
    OK(hipMemcpyDtoD(other, device, 4096));
    OK(hipMemcpy2D(other, 128, device, 128, 64, 16, hipMemcpyDeviceToDevice));
    OK(hipMemcpyParam2D(&parameters));
    OK(hipMemcpy3D(&box));
    EXPECT_CODE(hipStreamQuery(nullptr), hipErrorNotReady);
    __atomic_store_n(flag, 1u, __ATOMIC_RELEASE);
    OK(hipStreamSynchronize(nullptr));
}

static void places_on_the_bus() {
    char whole[16], part[16];
    OK(hipDeviceGetPCIBusId(whole, sizeof whole, 0));
    EXPECT(strlen(whole) == 12);
    for (int room : {1, 5, 12}) {
        memset(part, '?', sizeof part);
        EXPECT_CODE(hipDeviceGetPCIBusId(part, room, 0), hipErrorInvalidValue);
        EXPECT(!memcmp(part, whole, room - 1) && !part[room - 1] && part[room] == '?');
    }
    EXPECT_CODE(hipDeviceGetPCIBusId(part, 0, 0), hipErrorInvalidValue);
    EXPECT_CODE(hipDeviceGetPCIBusId(nullptr, 16, 0), hipErrorInvalidValue);
    EXPECT_CODE(hipDeviceGetPCIBusId(part, 16, -1), hipErrorInvalidDevice);
}

static void links() {
    uint32_t kind = 0, hops = 0, back = 0;
    OK(hipExtGetLinkTypeAndHopCount(0, 1, &kind, &hops));
    EXPECT(hops == 1);
    OK(hipExtGetLinkTypeAndHopCount(1, 0, &back, &hops));
    EXPECT(kind == back && hops == 1);
    EXPECT_CODE(hipExtGetLinkTypeAndHopCount(0, 0, &kind, &hops), hipErrorInvalidValue);
    EXPECT_CODE(hipExtGetLinkTypeAndHopCount(-1, 0, &kind, &hops), hipErrorInvalidValue);
    EXPECT_CODE(hipExtGetLinkTypeAndHopCount(0, -1, &kind, &hops), hipErrorInvalidValue);
    EXPECT_CODE(hipExtGetLinkTypeAndHopCount(2, 0, &kind, &hops), hipErrorInvalidDevice);
    EXPECT_CODE(hipExtGetLinkTypeAndHopCount(0, 2, &kind, &hops), hipErrorInvalidDevice);
    EXPECT_CODE(hipExtGetLinkTypeAndHopCount(2, 3, &kind, &hops), hipErrorInvalidDevice);
    EXPECT_CODE(hipExtGetLinkTypeAndHopCount(0, 1, nullptr, &hops), hipErrorInvalidValue);
    EXPECT_CODE(hipExtGetLinkTypeAndHopCount(0, 1, &kind, nullptr), hipErrorInvalidValue);
}

static void frees_of_nothing() {
    char local;
    EXPECT_CODE(hipFree(&local), hipErrorInvalidValue);
    EXPECT_CODE(hipHostFree(&local), hipErrorInvalidValue);
    OK(hipFree(nullptr));
    OK(hipHostFree(nullptr));
    EXPECT_CODE(hipFreeArray(nullptr), hipErrorInvalidValue);
    EXPECT_CODE(hipArrayDestroy(nullptr), hipErrorInvalidValue);
    EXPECT_CODE(hipFreeArray(reinterpret_cast<hipArray_t>(pinned)), hipErrorContextIsDestroyed);
    EXPECT_CODE(hipArrayDestroy(reinterpret_cast<hipArray_t>(pinned)), hipErrorContextIsDestroyed);
    EXPECT_CODE(hipFreeMipmappedArray(nullptr), hipErrorInvalidValue);
    EXPECT_CODE(hipMipmappedArrayDestroy(nullptr), hipErrorInvalidValue);
    OK(hipDestroySurfaceObject(nullptr));
    // Registered memory must not be freed, and may be registered again.
    char *memory = static_cast<char *>(malloc(1));
    for (unsigned flags : {hipHostRegisterDefault, hipHostRegisterPortable, hipHostRegisterMapped}) {
        OK(hipHostRegister(memory, 1, flags));
        EXPECT_CODE(hipHostFree(memory), hipErrorInvalidValue);
    }
    OK(hipHostUnregister(memory));
    EXPECT_CODE(hipHostUnregister(memory), hipErrorHostMemoryNotRegistered);
    free(memory);
}

static void values_on_streams_of_nothing() {
    hipStream_t nothing = reinterpret_cast<hipStream_t>(0xffff);
    EXPECT_CODE(hipStreamWriteValue32(nothing, pinned, 0, 0), hipErrorContextIsDestroyed);
    EXPECT_CODE(hipStreamWriteValue64(nothing, pinned, 0, 0), hipErrorContextIsDestroyed);
    EXPECT_CODE(hipStreamWaitValue32(nothing, pinned, 0, hipStreamWaitValueGte), hipErrorContextIsDestroyed);
    EXPECT_CODE(hipStreamWaitValue64(nothing, pinned, 0, hipStreamWaitValueGte), hipErrorContextIsDestroyed);
    EXPECT_CODE(hipStreamWaitValue32(nothing, pinned, 0, 99), hipErrorContextIsDestroyed);
    EXPECT_CODE(hipStreamWriteValue32(nothing, nullptr, 0, 0), hipErrorInvalidValue);
    EXPECT_CODE(hipStreamWaitValue32(nullptr, nullptr, 0, hipStreamWaitValueGte), hipErrorInvalidValue);
    EXPECT_CODE(hipStreamWaitValue32(nullptr, pinned, 0, 99), hipErrorInvalidValue);
}

int main() {
    OK(hipMalloc(&device, 65536));
    OK(hipMalloc(&other, 65536));
    OK(hipHostMalloc(&pinned, 65536));
    copies_described_wrongly();
    copies_that_are_not_waited_for();
    places_on_the_bus();
    links();
    frees_of_nothing();
    values_on_streams_of_nothing();
    return 0;
}
