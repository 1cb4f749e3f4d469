// Marks and ranges of NVTX, from C and C++, on two threads. Without a tool, the calls say that there is none.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>
#include <nvtx3/nvtx3.hpp>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            std::printf("line %d: %s\n", __LINE__, #what); \
            std::exit(1); \
        } \
    } while (0)

struct loader {
    static constexpr const char *name = "loader";
};
struct reading {
    static constexpr const char *name = "reading";
    static constexpr uint32_t id = 9;
};
struct decoded {
    static constexpr const wchar_t *message = L"decoded \u00e9\U0001f600";
};

__global__ void twice(int *number) { *number *= 2; }

static void launch(int *device) {
    NVTX3_FUNC_RANGE();
    twice<<<1, 1>>>(device);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

static void maybe(bool is_shown) {
    NVTX3_FUNC_RANGE_IF_IN(loader, is_shown);
    nvtx3::mark_in<loader>("inside maybe");
}

int main(int count, char **) {
    const bool has_tool = count > 1;
    const int outer_depth = has_tool ? 0 : NVTX_NO_PUSH_POP_TRACKING, inner_depth = has_tool ? 1 : NVTX_NO_PUSH_POP_TRACKING;
    int *device;
    CHECK(cudaMalloc(&device, sizeof *device) == cudaSuccess);
    nvtxNameOsThread(static_cast<uint32_t>(syscall(SYS_gettid)), "the first thread");
    nvtxNameCategory(3, "steps");
    CHECK(nvtxRangePush("outer") == outer_depth);

    nvtxEventAttributes_t attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.category = 3;
    attributes.colorType = NVTX_COLOR_ARGB;
    attributes.color = 0xff8800ff;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    attributes.payload.llValue = -5;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "inner \"quoted\"";
    CHECK(nvtxRangePushEx(&attributes) == inner_depth);
    launch(device);
    CHECK(nvtxRangePop() == inner_depth);

    const nvtxRangeId_t far = nvtxRangeStartW(L"far");
    CHECK((far != 0) == has_tool);
    // A domain's ranges are apart from those of others.
    const nvtxDomainHandle_t domain = nvtx3::domain::get<loader>();
    CHECK((domain != nullptr) == has_tool);
    std::thread([&] {
        CHECK(nvtxRangePop() == NVTX_NO_PUSH_POP_TRACKING);
        nvtxRangePush("never popped");
        nvtx3::scoped_range_in<loader> whole{nvtx3::message{"load"}, nvtx3::rgb{1, 2, 3}, nvtx3::payload{0.5f},
                                             nvtx3::named_category_in<loader>::get<reading>()};
        {
            nvtx3::scoped_range_in<loader> part{nvtx3::registered_string_in<loader>::get<decoded>(), nvtx3::payload{uint64_t(1) << 63},
                                                nvtx3::category{77}};
        }
        maybe(true);
        maybe(false);
        nvtxRangeEnd(far);
    }).join();
    // These overlap, as ranges of two domains may.
    CHECK(nvtxDomainRangePushEx(domain, &attributes) == outer_depth);
    CHECK(nvtxRangePush("crossing") == inner_depth);
    CHECK(nvtxDomainRangePop(domain) == outer_depth);
    CHECK(nvtxRangePop() == inner_depth);
    {
        nvtx3::unique_range moved{"moved"};
        const nvtx3::unique_range here = std::move(moved);
    }
    attributes.size = 4;
    nvtxMarkEx(&attributes);
    CHECK(nvtxRangePop() == outer_depth);
    CHECK(nvtxRangePop() == NVTX_NO_PUSH_POP_TRACKING);

    // Names of objects and locks need nobody who receives them.
    nvtxNameCudaStream(nullptr, "default");
    nvtxSyncUserAttributes_t lock = {NVTX_VERSION, NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE, NVTX_MESSAGE_UNKNOWN, {}};
    nvtxDomainSyncUserAcquireStart(nvtxDomainSyncUserCreate(domain, &lock));
    CHECK(cudaFree(device) == cudaSuccess);
    std::puts("PASSED");
}
