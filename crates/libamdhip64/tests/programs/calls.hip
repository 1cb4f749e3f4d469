// Calls every function of HIP with one argument at a time spoiled, and prints what each call returns.
//
// `calls` prints the names of the functions; `calls NAME FIRST` does the calls of one function from a number on, each announced before
// it is made, so that whoever reads the output knows the call that ended the process. One function a process: what a call changes
// is seen by later ones. `calls mixed SEED COUNT` makes many calls of any functions one after the other, with any number of arguments
// spoiled, on what the calls before have left.
#define __HIP_DISABLE_CPP_FUNCTIONS__
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#include <hip/hip_runtime.h>
#include <hip/hip_ext.h>
#include <hip/hip_deprecated.h>
#include <hip/hip_gl_interop.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/uio.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

__global__ void stub(int *out) { if (out) out[threadIdx.x] = 1; }
__device__ int variable[64];
__constant__ int constant[64];

// The rest is the host's alone.
#ifndef __HIP_DEVICE_COMPILE__

// The functions and their types, in a file that the test makes: several have overloads in C++.
#define FUNCTION(name, result, ...) using Type_##name = result (*)(__VA_ARGS__);
#include "functions.inc"
#undef FUNCTION

static void host_function(void *) {}
static void stream_callback(hipStream_t, hipError_t, void *) {}

constexpr size_t PAGE = 4096, AREA = 16 * PAGE, BEHIND = 2 << 20;

// What baselines are made of. What a library cannot make stays null.
struct Fixture {
    char *device_memory = nullptr, *freed = nullptr, *pinned = nullptr, *managed = nullptr, *pool_memory = nullptr;
    hipStream_t stream = nullptr, ended_stream = nullptr;
    hipEvent_t event = nullptr, second_event = nullptr, ended_event = nullptr;
    hipModule_t module = nullptr;
    hipFunction_t function = nullptr;
    hipLibrary_t library = nullptr;
    hipKernel_t kernel = nullptr;
    hipGraph_t graph = nullptr, other_graph = nullptr, ended_graph = nullptr;
    hipGraphNode_t nodes[12] = {};
    hipGraphExec_t exec = nullptr, ended_exec = nullptr;
    hipMemPool_t pool = nullptr, ended_pool = nullptr;
    hipUserObject_t object = nullptr;
    hipCtx_t context = nullptr;
    hipMemGenericAllocationHandle_t physical = nullptr;
    hipArray_t array = nullptr;
    hipTextureObject_t texture = nullptr;
    hipIpcMemHandle_t memory_handle = {};
    hipIpcEventHandle_t event_handle = {};
    char *none = nullptr, *readable = nullptr, *ones = nullptr, *edge = nullptr;
    char *areas[20] = {};
    std::vector<char> image;
} it;

enum { EMPTY, KERNEL, COPY, FILL, HOST, RECORD, WAIT, CHILD, ALLOCATE, FREE, DRIVER_COPY, BATCH };

static char *map(size_t size, int protection) {
    void *found = mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) abort();
    return static_cast<char *>(found);
}

// ---- structures that baselines pass ------------------------------------------------------------------------------------

static int *argument = nullptr;
static void *arguments[] = {&argument};
static size_t argument_size = sizeof argument;
static void *packed[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &argument, HIP_LAUNCH_PARAM_BUFFER_SIZE, &argument_size,
                         HIP_LAUNCH_PARAM_END};

static hipKernelNodeParams kernel_params() {
    hipKernelNodeParams p = {};
    p.blockDim = dim3(32);
    p.gridDim = dim3(1);
    p.func = reinterpret_cast<void *>(stub);
    p.kernelParams = arguments;
    return p;
}
static hipMemcpy3DParms copy_params() {
    hipMemcpy3DParms p = {};
    p.srcPtr = hipPitchedPtr{it.device_memory, 64, 64, 4};
    p.dstPtr = hipPitchedPtr{it.device_memory + PAGE, 64, 64, 4};
    p.extent = hipExtent{64, 4, 1};
    p.kind = hipMemcpyDeviceToDevice;
    return p;
}
static HIP_MEMCPY3D driver_copy_params() {
    HIP_MEMCPY3D p = {};
    p.srcMemoryType = p.dstMemoryType = hipMemoryTypeDevice;
    p.srcDevice = it.device_memory;
    p.dstDevice = it.device_memory + PAGE;
    p.srcPitch = p.dstPitch = p.WidthInBytes = 64;
    p.srcHeight = p.dstHeight = p.Height = 4;
    p.Depth = 1;
    return p;
}
static hip_Memcpy2D rectangle_params() {
    hip_Memcpy2D p = {};
    p.srcMemoryType = p.dstMemoryType = hipMemoryTypeDevice;
    p.srcDevice = it.device_memory;
    p.dstDevice = it.device_memory + PAGE;
    p.srcPitch = p.dstPitch = p.WidthInBytes = 64;
    p.Height = 4;
    return p;
}
static hipMemsetParams fill_params() {
    hipMemsetParams p = {};
    p.dst = it.device_memory;
    p.elementSize = 1;
    p.width = 64;
    p.height = 1;
    p.pitch = 64;
    p.value = 7;
    return p;
}
static hipGraphNodeParams node_params() {
    hipGraphNodeParams p = {};
    p.type = hipGraphNodeTypeKernel;
    p.kernel = kernel_params();
    return p;
}
static hipHostNodeParams host_params() { return hipHostNodeParams{host_function, nullptr}; }
static hipMemPoolProps pool_props() {
    hipMemPoolProps p = {};
    p.allocType = hipMemAllocationTypePinned;
    p.location = hipMemLocation{hipMemLocationTypeDevice, 0};
    return p;
}
static hipMemAllocNodeParams allocation_params() {
    hipMemAllocNodeParams p = {};
    p.poolProps = pool_props();
    p.bytesize = PAGE;
    return p;
}
static hipMemAllocationProp physical_props() {
    hipMemAllocationProp p = {};
    p.type = hipMemAllocationTypePinned;
    p.location = hipMemLocation{hipMemLocationTypeDevice, 0};
    return p;
}

static hipStreamBatchMemOpParams memory_op;

static hipBatchMemOpNodeParams batch_params() {
    memory_op.writeValue.operation = hipStreamMemOpWriteValue32;
    memory_op.writeValue.address = it.pinned;
    hipBatchMemOpNodeParams p = {};
    p.ctx = it.context;
    p.count = 1;
    p.paramArray = &memory_op;
    return p;
}

// ---- values by type ----------------------------------------------------------------------------------------------------

// Room for a value of any type of argument.
constexpr size_t ROOM = 80;

template <class T> struct Value {
    const char *name;
    T value;
};

template <class T> T address(const void *at) {
    auto number = reinterpret_cast<uintptr_t>(at);
    T value;
    static_assert(sizeof value == sizeof number, "a pointer");
    memcpy(&value, &number, sizeof value);
    return value;
}
template <class T> T number(uintptr_t at) { return address<T>(reinterpret_cast<void *>(at)); }

// Whether to leave out what many a library does not survive: addresses of nothing, and handles of another kind.
static bool is_gentle = false;

// Addresses at which nothing can be, or nothing of use.
template <class T> std::vector<Value<T>> addresses() {
    if (is_gentle) return {{"null", number<T>(0)}};
    return {{"null", number<T>(0)},
            {"1", number<T>(1)},
            {"0x10", number<T>(0x10)},
            {"0x1001", number<T>(0x1001)},
            {"kernel half", number<T>(0xffff800000001000)},
            {"no canonical address", number<T>(0x1234567890abcdf0)},
            {"-1", number<T>(~uintptr_t(0))},
            {"no access", address<T>(it.none)},
            {"nothing there", number<T>(0x7000'0000'0000 - 4 * PAGE)}};
}

template <class T> constexpr bool is_handle =
    std::is_same_v<T, hipStream_t> || std::is_same_v<T, hipEvent_t> || std::is_same_v<T, hipModule_t> ||
    std::is_same_v<T, hipFunction_t> || std::is_same_v<T, hipGraph_t> || std::is_same_v<T, hipGraphNode_t> ||
    std::is_same_v<T, hipGraphExec_t> || std::is_same_v<T, hipMemPool_t> || std::is_same_v<T, hipUserObject_t> ||
    std::is_same_v<T, hipCtx_t> || std::is_same_v<T, hipMemGenericAllocationHandle_t> ||
    std::is_same_v<T, hipLibrary_t> || std::is_same_v<T, hipKernel_t> || std::is_same_v<T, hipArray_t> ||
    std::is_same_v<T, hipArray_const_t> || std::is_same_v<T, hipTextureObject_t> ||
    std::is_same_v<T, hipMipmappedArray_t> || std::is_same_v<T, hipMipmappedArray_const_t> ||
    std::is_same_v<T, hipSurfaceObject_t> || std::is_same_v<T, hipGraphicsResource_t> ||
    std::is_same_v<T, hipLinkState_t>;
static_assert(!is_handle<void *>, "external memory and addresses of devices are pointers to anything");

template <class T> T handle() {
    if constexpr (std::is_same_v<T, hipStream_t>) return it.stream;
    else if constexpr (std::is_same_v<T, hipEvent_t>) return it.event;
    else if constexpr (std::is_same_v<T, hipModule_t>) return it.module;
    else if constexpr (std::is_same_v<T, hipFunction_t>) return it.function;
    else if constexpr (std::is_same_v<T, hipGraph_t>) return it.graph;
    else if constexpr (std::is_same_v<T, hipGraphNode_t>) return it.nodes[EMPTY];
    else if constexpr (std::is_same_v<T, hipGraphExec_t>) return it.exec;
    else if constexpr (std::is_same_v<T, hipMemPool_t>) return it.pool;
    else if constexpr (std::is_same_v<T, hipUserObject_t>) return it.object;
    else if constexpr (std::is_same_v<T, hipCtx_t>) return it.context;
    else if constexpr (std::is_same_v<T, hipLibrary_t>) return it.library;
    else if constexpr (std::is_same_v<T, hipKernel_t>) return it.kernel;
    else if constexpr (std::is_same_v<T, hipArray_t>) return it.array;
    else if constexpr (std::is_same_v<T, hipArray_const_t>) return it.array;
    else if constexpr (std::is_same_v<T, hipTextureObject_t>) return it.texture;
    else if constexpr (std::is_same_v<T, hipMemGenericAllocationHandle_t>) return it.physical;
    else return T{};
}

template <class T> std::vector<Value<T>> spoiled() {
    if constexpr (is_handle<T>) {
        std::vector<Value<T>> all = addresses<T>();
        if (is_gentle) {
            all.push_back({"an ended stream", address<T>(it.ended_stream)});
            all.push_back({"an ended event", address<T>(it.ended_event)});
            return all;
        }
        all.push_back({"2", number<T>(2)});
        all.push_back({"zeros", address<T>(it.areas[19])});
        all.push_back({"ones", address<T>(it.ones)});
        all.push_back({"a stream", address<T>(it.stream)});
        all.push_back({"an event", address<T>(it.event)});
        all.push_back({"a module", address<T>(it.module)});
        all.push_back({"a function", address<T>(it.function)});
        all.push_back({"a graph", address<T>(it.graph)});
        all.push_back({"a kernel node", address<T>(it.nodes[KERNEL])});
        all.push_back({"a copy node", address<T>(it.nodes[COPY])});
        all.push_back({"an allocation node", address<T>(it.nodes[ALLOCATE])});
        all.push_back({"an executable graph", address<T>(it.exec)});
        all.push_back({"an ended stream", address<T>(it.ended_stream)});
        all.push_back({"an ended event", address<T>(it.ended_event)});
        all.push_back({"an ended graph", address<T>(it.ended_graph)});
        all.push_back({"an ended executable graph", address<T>(it.ended_exec)});
        all.push_back({"an ended pool", address<T>(it.ended_pool)});
        all.push_back({"device memory", address<T>(it.device_memory)});
        return all;
    } else if constexpr (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>) {
        // Whether there is a function at an address nobody can know.
        return {{"null", nullptr}};
    } else if constexpr (std::is_pointer_v<T>) {
        std::vector<Value<T>> all = addresses<T>();
        all.push_back({"zeros", address<T>(it.areas[19])});
        if (std::is_same_v<T, const char *>) all.push_back({"a name of nothing", address<T>("/nowhere/of this name")});
        all.push_back({"freed memory", address<T>(it.freed)});
        all.push_back({"device memory", address<T>(it.device_memory)});
        all.push_back({"pinned memory", address<T>(it.pinned)});
        if (is_gentle) return all;
        all.push_back({"odd address", address<T>(it.areas[19] + 1)});
        all.push_back({"read-only", address<T>(it.readable)});
        all.push_back({"ones", address<T>(it.ones)});
        all.push_back({"the last bytes of a mapping", address<T>(it.edge - 2)});
        all.push_back({"a stream", address<T>(it.stream)});
        return all;
    } else if constexpr (std::is_enum_v<T>) {
        std::vector<Value<T>> all;
        static const std::pair<const char *, long long> numbers[] = {
            {"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}, {"4", 4}, {"5", 5}, {"7", 7}, {"10", 10}, {"-1", -1}, {"99", 99},
            {"12345", 12345}};
        for (auto [name, value] : numbers) all.push_back({name, static_cast<T>(value)});
        return all;
    } else if constexpr (std::is_integral_v<T>) {
        std::vector<Value<T>> all;
        static const std::pair<const char *, long long> numbers[] = {
            {"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}, {"4", 4}, {"8", 8}, {"63", 63}, {"1 << 12", 1 << 12},
            {"1 << 20", 1 << 20}, {"-1", -1}, {"-2", -2}, {"INT_MAX", 0x7fffffff}, {"INT_MIN", -0x80000000ll},
            {"1 << 32", 1ll << 32}, {"1 << 40", 1ll << 40}, {"1 << 62", 1ll << 62}};
        for (auto [name, value] : numbers)
            if (sizeof(T) == 8 || value == static_cast<int>(value)) all.push_back({name, static_cast<T>(value)});
        return all;
    } else if constexpr (std::is_floating_point_v<T>) {
        return {{"0", T(0)}, {"-1", T(-1)}, {"inf", T(1) / T(0)}};
    } else {
        T zeros, ones;
        memset(&zeros, 0, sizeof zeros);
        memset(&ones, 0xff, sizeof ones);
        return {{"zeros", zeros}, {"ones", ones}};
    }
}

// What is passed for an argument of this type unless something is said of the function. `place` is its number.
template <class T> T baseline(size_t place) {
    char *area = it.areas[place];
    if constexpr (is_handle<T>) return handle<T>();
    else if constexpr (std::is_same_v<T, const char *>) return strcpy(area, "stub");
    else if constexpr (std::is_same_v<T, const void *> || std::is_same_v<T, void *>) return address<T>(it.device_memory + place * PAGE);
    else if constexpr (std::is_same_v<T, hipHostFn_t>) return host_function;
    else if constexpr (std::is_same_v<T, hipStreamCallback_t>) return stream_callback;
    else if constexpr (std::is_pointer_v<T>) {
        using Of = std::remove_const_t<std::remove_pointer_t<T>>;
        if constexpr (std::is_same_v<Of, hipKernelNodeParams>) *reinterpret_cast<Of *>(area) = kernel_params();
        else if constexpr (std::is_same_v<Of, hipMemcpy3DParms>) *reinterpret_cast<Of *>(area) = copy_params();
        else if constexpr (std::is_same_v<Of, HIP_MEMCPY3D>) *reinterpret_cast<Of *>(area) = driver_copy_params();
        else if constexpr (std::is_same_v<Of, hip_Memcpy2D>) *reinterpret_cast<Of *>(area) = rectangle_params();
        else if constexpr (std::is_same_v<Of, hipMemsetParams>) *reinterpret_cast<Of *>(area) = fill_params();
        else if constexpr (std::is_same_v<Of, hipHostNodeParams>) *reinterpret_cast<Of *>(area) = host_params();
        else if constexpr (std::is_same_v<Of, hipGraphNodeParams>) *reinterpret_cast<Of *>(area) = node_params();
        else if constexpr (std::is_same_v<Of, hipBatchMemOpNodeParams>) *reinterpret_cast<Of *>(area) = batch_params();
        else if constexpr (std::is_same_v<Of, hipMemPoolProps>) *reinterpret_cast<Of *>(area) = pool_props();
        else if constexpr (std::is_same_v<Of, hipMemAllocNodeParams>) *reinterpret_cast<Of *>(area) = allocation_params();
        else if constexpr (std::is_same_v<Of, hipMemAllocationProp>) *reinterpret_cast<Of *>(area) = physical_props();
        else if constexpr (std::is_same_v<T, const hipGraphNode_t *>) *reinterpret_cast<Of *>(area) = it.nodes[EMPTY];
        return address<T>(area);
    } else if constexpr (std::is_same_v<T, size_t>) return 64;
    else if constexpr (std::is_same_v<T, hipMemcpyKind>) return hipMemcpyDefault;
    else if constexpr (std::is_same_v<T, dim3>) return dim3(1);
    else if constexpr (std::is_same_v<T, hipExtent>) return hipExtent{64, 4, 1};
    else if constexpr (std::is_same_v<T, hipPitchedPtr>) return hipPitchedPtr{it.device_memory, 64, 64, 4};
    else if constexpr (std::is_same_v<T, hipMemLocation>) return hipMemLocation{hipMemLocationTypeDevice, 0};
    else if constexpr (std::is_same_v<T, hipIpcMemHandle_t>) return it.memory_handle;
    else if constexpr (std::is_same_v<T, hipIpcEventHandle_t>) return it.event_handle;
    else return T{};
}

// ---- calls -------------------------------------------------------------------------------------------------------------

static size_t first = 0, next_call = 0;

// The state of the random numbers of mixed calls; 0 for calls in turn.
static uint64_t mixed = 0;

// A number below a limit (xorshift64*).
static size_t below(size_t limit) {
    mixed ^= mixed >> 12;
    mixed ^= mixed << 25;
    mixed ^= mixed >> 27;
    return (mixed * 0x2545f4914f6cdd1d >> 32) % limit;
}

// Where answers go. What libraries print goes to standard error.
static FILE *answers = stdout;

// Whether calls may give back the memory of the fixture, which is then not ours to write.
static bool gives_back = false;

// Zeros, where there is memory.
static void clear(void *start, size_t size) {
    static char zeros[16 * PAGE];
    iovec from = {zeros, size}, to = {start, size};
    if (start && !gives_back) (void)!process_vm_writev(getpid(), &from, 1, &to, 1, 0);
}

// What an earlier call has written is none of the next one's arguments.
static void refresh() {
    for (char *area : it.areas) memset(area, 0, AREA);
    memset(it.ones, 0xff, AREA);
    for (size_t part = 0; part < 4; part++) clear(it.device_memory + part * 16 * PAGE, 16 * PAGE);
    clear(it.pinned, 16 * PAGE);
}

template <class R> void finish(R result) {
    if constexpr (std::is_same_v<R, hipError_t> || std::is_integral_v<R>) fprintf(answers, "%d", static_cast<int>(result));
    else if constexpr (std::is_pointer_v<R>) fprintf(answers, "%s", result ? "text" : "null");
    else fprintf(answers, "value");
    fprintf(answers, " last %d", hipGetLastError());
    fprintf(answers, "\n");
    fflush(answers);
}

// Does a call unless it was done before.
template <class Call> void announce(size_t place, const char *name, Call &&call) {
    if (next_call++ < first) return;
    fprintf(answers, "%zu\t%zu\t%s\t", next_call - 1, place, name);
    fflush(answers);
    alarm(is_gentle ? 5 : 20);
    refresh();
    call();
}

// The arguments of one call.
struct Arguments {
    alignas(16) char slots[16][ROOM];

    template <class T> void set(size_t index, T value) {
        static_assert(sizeof value <= ROOM && std::is_trivially_copyable_v<T>);
        if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
            // Whatever the argument's width is, it has the low bytes.
            auto wide = static_cast<long long>(value);
            memcpy(slots[index], &wide, sizeof wide);
        } else memcpy(slots[index], &value, sizeof value);
    }
    template <class T> T *at(size_t index) {
        T *found;
        memcpy(&found, slots[index], sizeof found);
        return found;
    }
};

// What there is to a type of argument.
struct Kind {
    void (*baseline)(size_t place, Arguments &all);
    size_t (*count)();
    const char *(*spoil)(size_t number, size_t place, Arguments &all);

    template <class T> static const std::vector<Value<T>> &all_spoiled() {
        static const std::vector<Value<T>> all = spoiled<T>();
        return all;
    }
    template <class T> static constexpr Kind of() {
        return {[](size_t place, Arguments &all) { all.set(place, ::baseline<T>(place)); },
                [] { return all_spoiled<T>().size(); },
                [](size_t number, size_t place, Arguments &all) {
                    auto &bad = all_spoiled<T>()[number];
                    all.set(place, bad.value);
                    return bad.name;
                }};
    }
};

// Says what of the baseline differs for a function.
using Adapt = void (*)(Arguments &);

static void every(const Kind *kinds, size_t count, void (*call)(Arguments &), Adapt adapt) {
    Arguments all;
    auto base = [&] {
        for (size_t place = 0; place < count; place++) kinds[place].baseline(place, all);
        if (adapt) adapt(all);
    };
    if (mixed) {
        // Half of the calls are as they should be.
        size_t wrong = count ? below(2) * (1 + below(count)) : 0;
        announce(wrong, "mixed", [&] {
            base();
            for (size_t i = 0; i < wrong; i++) {
                size_t place = below(count);
                if (size_t values = kinds[place].count()) kinds[place].spoil(below(values), place, all);
            }
            call(all);
        });
        return;
    }
    for (size_t place = 0; place < count; place++)
        for (size_t number = 0; number < kinds[place].count(); number++) {
            Arguments names;
            announce(place + 1, kinds[place].spoil(number, place, names), [&] {
                base();
                kinds[place].spoil(number, place, all);
                call(all);
            });
        }
    announce(0, "as it should be", [&] {
        base();
        call(all);
    });
}

template <class Type> struct Function;
template <class R, class... A> struct Function<R (*)(A...)> {
    template <R (*call)(A...), size_t... I> static void invoke(Arguments &all, std::index_sequence<I...>) {
        (void)all;
        if constexpr (std::is_void_v<R>) {
            call(*reinterpret_cast<A *>(all.slots[I])...);
            finish(0);
        } else finish(call(*reinterpret_cast<A *>(all.slots[I])...));
    }
    template <R (*call)(A...)> static void run(Adapt adapt = nullptr) {
        static const Kind kinds[] = {Kind::of<A>()..., Kind::of<int>()};
        every(kinds, sizeof...(A), [](Arguments &all) { invoke<call>(all, std::index_sequence_for<A...>{}); }, adapt);
    }
};

// ---- the functions -----------------------------------------------------------------------------------------------------

static void prepare(const char *program) {
    it.none = map(PAGE, PROT_NONE);
    it.readable = map(PAGE, PROT_READ);
    it.ones = map(AREA, PROT_READ | PROT_WRITE);
    for (char *&area : it.areas) {
        // What is behind an area is the same in each process: nothing for more than a size that calls are spoiled by.
        area = map(AREA + BEHIND, PROT_READ | PROT_WRITE);
        mprotect(area + AREA, BEHIND, PROT_NONE);
    }
    char *two = map(2 * PAGE, PROT_READ | PROT_WRITE);
    mprotect(two + PAGE, PAGE, PROT_NONE);
    it.edge = two + PAGE;

    void *memory = nullptr;
    if (hipMalloc(&memory, 64 * PAGE) == hipSuccess) it.device_memory = static_cast<char *>(memory);
    if (hipMalloc(&memory, PAGE) == hipSuccess) it.freed = static_cast<char *>(memory);
    if (hipHostMalloc(&memory, 16 * PAGE, 0) == hipSuccess) it.pinned = static_cast<char *>(memory);
    if (hipMallocManaged(&memory, 16 * PAGE, hipMemAttachGlobal) == hipSuccess) it.managed = static_cast<char *>(memory);
    (void)hipStreamCreate(&it.stream);
    (void)hipStreamCreate(&it.ended_stream);
    (void)hipEventCreate(&it.event);
    (void)hipEventCreate(&it.second_event);
    (void)hipEventCreate(&it.ended_event);
    if (hipMallocAsync(&memory, PAGE, it.stream) == hipSuccess) it.pool_memory = static_cast<char *>(memory);
    (void)hipStreamSynchronize(it.stream);
    (void)hipEventRecord(it.event, it.stream);
    (void)hipEventRecord(it.second_event, it.stream);
    (void)hipStreamSynchronize(it.stream);

    std::string file = program;
    file = file.substr(0, file.rfind('/') + 1) + "gfx1100.hsaco";
    if (FILE *image = fopen(file.c_str(), "rb")) {
        it.image.resize(1 << 20);
        it.image.resize(fread(it.image.data(), 1, it.image.size(), image));
        fclose(image);
    }
    (void)hipModuleLoadData(&it.module, it.image.data());
    (void)hipModuleGetFunction(&it.function, it.module, "_Z4stubPi");
    (void)static_cast<Type_hipLibraryLoadData>(hipLibraryLoadData)(&it.library, it.image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    (void)hipLibraryGetKernel(&it.kernel, it.library, "_Z4stubPi");

    (void)hipDevicePrimaryCtxRetain(&it.context, 0);
    (void)hipGraphCreate(&it.graph, 0);
    (void)hipGraphCreate(&it.other_graph, 0);
    (void)hipGraphCreate(&it.ended_graph, 0);
    (void)hipGraphAddEmptyNode(&it.nodes[EMPTY], it.graph, nullptr, 0);
    auto kernel = kernel_params();
    (void)hipGraphAddKernelNode(&it.nodes[KERNEL], it.graph, nullptr, 0, &kernel);
    auto copy = copy_params();
    (void)hipGraphAddMemcpyNode(&it.nodes[COPY], it.graph, nullptr, 0, &copy);
    auto driver_copy = driver_copy_params();
    (void)hipDrvGraphAddMemcpyNode(&it.nodes[DRIVER_COPY], it.graph, nullptr, 0, &driver_copy, it.context);
    auto fill = fill_params();
    (void)hipGraphAddMemsetNode(&it.nodes[FILL], it.graph, nullptr, 0, &fill);
    auto host = host_params();
    (void)hipGraphAddHostNode(&it.nodes[HOST], it.graph, nullptr, 0, &host);
    (void)hipGraphAddEventRecordNode(&it.nodes[RECORD], it.graph, nullptr, 0, it.event);
    (void)hipGraphAddEventWaitNode(&it.nodes[WAIT], it.graph, nullptr, 0, it.event);
    hipGraph_t child = nullptr;
    (void)hipGraphCreate(&child, 0);
    hipGraphNode_t inner = nullptr;
    (void)hipGraphAddEmptyNode(&inner, child, nullptr, 0);
    (void)hipGraphAddChildGraphNode(&it.nodes[CHILD], it.graph, nullptr, 0, child);
    auto allocation = allocation_params();
    (void)hipGraphAddMemAllocNode(&it.nodes[ALLOCATE], it.other_graph, nullptr, 0, &allocation);
    (void)hipGraphAddMemFreeNode(&it.nodes[FREE], it.other_graph, &it.nodes[ALLOCATE], 1, allocation.dptr);
    auto batch = batch_params();
    (void)hipGraphAddBatchMemOpNode(&it.nodes[BATCH], it.other_graph, nullptr, 0, &batch);
    (void)hipGraphInstantiate(&it.exec, it.graph, nullptr, nullptr, 0);
    (void)hipGraphInstantiate(&it.ended_exec, it.graph, nullptr, nullptr, 0);
    (void)hipUserObjectCreate(&it.object, nullptr, host_function, 1, hipUserObjectNoDestructorSync);

    auto props = pool_props();
    (void)hipMemPoolCreate(&it.pool, &props);
    (void)hipMemPoolCreate(&it.ended_pool, &props);
    auto physical = physical_props();
    (void)hipMemCreate(&it.physical, 1 << 21, &physical, 0);
    (void)hipIpcGetMemHandle(&it.memory_handle, it.device_memory);

    (void)hipFree(it.freed);
    (void)hipStreamDestroy(it.ended_stream);
    (void)hipEventDestroy(it.ended_event);
    (void)hipGraphDestroy(it.ended_graph);
    (void)hipGraphExecDestroy(it.ended_exec);
    (void)hipMemPoolDestroy(it.ended_pool);
    (void)hipGetLastError();
}

#include "calls_baselines.h"

#define STRING(text) #text
static const char *const NAMES[] = {
#define FUNCTION(name, ...) STRING(name),
#include "functions.inc"
#undef FUNCTION
};

static bool plain(const char *wanted) {
#define FUNCTION(name, ...) \
    if (!strcmp(wanted, #name)) return Function<Type_##name>::run<name>(), true;
#include "functions.inc"
#undef FUNCTION
    return false;
}

// Functions after which streams wait for what nobody does here.
static bool waits_for_ever(const char *name) {
    for (const char *part : {"WaitValue", "BatchMemOp", "ThreadExchangeStreamCaptureMode"})
        if (strstr(name, part)) return true;
    return false;
}

int main(int count, char **words) {
    if (count < 2) {
        for (const char *name : NAMES) puts(name);
        return 0;
    }
    if (count > 3 && !strcmp(words[1], "mixed")) {
        prepare(words[0]);
        gives_back = true;
        mixed = strtoull(words[2], nullptr, 10) * 2 + 1;
        for (size_t left = strtoul(words[3], nullptr, 10); left > 0; left--) {
            const char *name = NAMES[below(sizeof NAMES / sizeof *NAMES)];
            if (waits_for_ever(name)) continue;
            printf("%s\t", name);
            if (!special(name)) plain(name);
        }
        puts("end");
        fflush(stdout);
        _exit(0);
    }
    fflush(stdout);
    answers = fdopen(dup(1), "w");
    if (!answers || dup2(2, 1) < 0) return 3;
    for (const char *part : {"Free", "Reset", "Unregister", "Destroy", "Release", "Unmap"})
        if (strstr(words[1], part)) gives_back = true;
    first = count > 2 ? strtoul(words[2], nullptr, 10) : 0;
    is_gentle = getenv("GENTLE") != nullptr;
    prepare(words[0]);
    if (!special(words[1]) && !plain(words[1])) return 2;
    fputs("end\n", answers);
    fflush(answers);
    // What a library does when a process ends is none of this.
    _exit(0);
}
#endif
