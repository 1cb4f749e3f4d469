// A part of `order.hip`: memory, streams and events, each with its state in the model.
#pragma once
#include "check.h"

#include <algorithm>
#include <bitset>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

// Operations, by number.
using Set = std::bitset<128>;

enum Place { DEVICE, PINNED, PAGEABLE };

__device__ unsigned variable[1024];

// The work of kernels and host functions: copies words from one place to another.
struct Step {
    const unsigned *from;
    unsigned *to;
    size_t words;
    unsigned salt;
};

__host__ __device__ static inline unsigned transformed(unsigned word, size_t at, unsigned salt) {
    return word * 5 + unsigned(at) + salt;
}

// Waits for the flag first, if there is one.
__global__ void transform(Step step, unsigned *flag) {
    while (flag && !__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)) __builtin_amdgcn_s_sleep(64);
    size_t first = blockIdx.x * blockDim.x + threadIdx.x;
    for (size_t at = first; at < step.words; at += gridDim.x * blockDim.x)
        step.to[at] = transformed(step.from[at], at, step.salt);
}

static void transform_model(const Step &step, unsigned *to, const unsigned *from) {
    for (size_t at = 0; at < step.words; at++) to[at] = transformed(from[at], at, step.salt);
}

struct Call {
    Step step;
    unsigned *flag;
};

static void on_host(void *data) {
    Call &call = *static_cast<Call *>(data);
    while (call.flag && !__atomic_load_n(call.flag, __ATOMIC_RELAXED)) usleep(50);
    transform_model(call.step, call.step.to, call.step.from);
}

static void on_callback(hipStream_t, hipError_t status, void *data) {
    EXPECT(status == hipSuccess);
    on_host(data);
}

struct Region {
    std::string name;
    Place place;
    int device;
    unsigned *memory;
    size_t words;
    bool symbol, pool;
    // Its contents once everything requested so far is done.
    std::vector<unsigned> model;
    // The operation that wrote it last, and those that read it since.
    int writer;
    std::vector<int> readers;

    Region() : place(PINNED), device(0), memory(nullptr), words(0), symbol(false), pool(false), writer(-1) {}
    bool may_be_read(const Set &before) const { return writer < 0 || before[writer]; }
    bool may_be_written(const Set &before) const {
        return may_be_read(before) && std::all_of(readers.begin(), readers.end(), [&](int r) { return before[r]; });
    }
    bool is_still() const;
    void read(int op) { readers.push_back(op); }
    void written(int op) { writer = op, readers.clear(); }
};

struct Stream {
    std::string name;
    hipStream_t stream;
    int device, thread;
    bool is_null, is_blocking;
    // The operations submitted to it, and everything before those.
    Set last;

    Set before() const;
    int operation(const char *what, Region *from, Region *to, const char *how);
};

struct Event {
    std::string name;
    hipEvent_t event;
    int device;
    Set at;
};

// The held operations that an operation waits for.
struct Hold {
    int op;
    unsigned *flag;
    bool is_held;
};

// A thread that does one thing at a time, while its owner waits.
struct Thread {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> work;
    Thread() {
        std::thread([this] {
            for (;;) {
                std::unique_lock<std::mutex> lock(mutex);
                changed.wait(lock, [this] { return bool(work); });
                work();
                work = nullptr;
                changed.notify_all();
            }
        }).detach();
    }
    void run(std::function<void()> next) {
        std::unique_lock<std::mutex> lock(mutex);
        work = std::move(next);
        changed.notify_all();
        changed.wait(lock, [this] { return !work; });
    }
};

static struct World {
    int devices = 1;
    bool alone = false, gentle = false, traces = false, has_values = false;
    std::list<Region> regions;
    std::vector<Stream> streams;
    std::vector<Event> events;
    std::vector<hipGraphExec_t> execs;
    std::vector<Hold> holds;
    std::list<Call> calls;
    std::vector<std::string> log;
    // The operations that the program knows to be done.
    Set host;
    unsigned operations = 0, pools = 0, named = 0, number = 0;
    unsigned long random = 1;
    unsigned *flags = nullptr;
    Thread *thread = nullptr;

    size_t held() const {
        return std::count_if(holds.begin(), holds.end(), [](const Hold &hold) { return hold.is_held; });
    }
    Stream &null_of(int device) {
        return *std::find_if(streams.begin(), streams.end(),
                             [&](Stream &s) { return s.is_null && s.device == device; });
    }
} world;

static size_t below(size_t limit) {
    world.random ^= world.random << 13;
    world.random ^= world.random >> 7;
    world.random ^= world.random << 17;
    return limit == 0 ? 0 : (world.random >> 20) % limit;
}

static void note(const char *what, Region *from, Region *to, const char *how) {
    std::string line = what;
    if (from) line += " from " + from->name;
    if (to) line += " to " + to->name;
    world.log.push_back(line + " " + how);
    if (world.traces) fprintf(stderr, "%s\n", world.log.back().c_str());
}

[[noreturn]] static void fail(const std::string &what) {
    for (std::string &line : world.log) fprintf(stderr, "%s\n", line.c_str());
    fprintf(stderr, "program %u: %s\n", world.number, what.c_str());
    _exit(1);
}

bool Region::is_still() const { return may_be_read(world.host); }

Set Stream::before() const {
    Set before = world.host | last;
    for (const Stream &other : world.streams) {
        if (other.device == device && ((is_null && other.is_blocking) || (is_blocking && other.is_null))) before |= other.last;
    }
    return before;
}

int Stream::operation(const char *what, Region *from, Region *to, const char *how) {
    EXPECT(world.operations < Set().size());
    int op = world.operations++;
    last = before();
    last[op] = true;
    note((std::to_string(op) + " on " + name + ": " + what).c_str(), from, to, how);
    return op;
}

// A usable region, preferably one with pending operations.
static Region *pick(const Set &before, bool writes, const std::function<bool(Region &)> &suits) {
    std::vector<Region *> found;
    for (Region &region : world.regions) {
        if (!(writes ? region.may_be_written(before) : region.may_be_read(before)) || !suits(region)) continue;
        bool in_use = !(writes ? region.may_be_written(world.host) : region.may_be_read(world.host));
        found.insert(found.end(), in_use ? 8 : 1, &region);
    }
    return found.empty() ? nullptr : found[below(found.size())];
}

static Step step_of(Region &from, Region &to) {
    return {from.memory, to.memory, std::min(from.words, to.words), unsigned(below(1000))};
}

static Call &keep(const Call &call) { return world.calls.emplace_back(call); }

// The flag for which an operation has to wait.
static unsigned *hold(int op) {
    unsigned *flag = world.flags + op;
    __atomic_store_n(flag, 0u, __ATOMIC_RELEASE);
    world.holds.push_back({op, flag, true});
    return flag;
}

// Makes a call on the stream's thread and device. The operations that it may wait for, `awaited`, are released shortly after it begins.
static void call(Stream &stream, const Set &awaited, const std::function<void(hipStream_t)> &work) {
    std::vector<unsigned *> flags;
    for (Hold &hold : world.holds) {
        if (!hold.is_held || !(world.alone ? awaited[hold.op] : awaited.any())) continue;
        hold.is_held = false;
        flags.push_back(hold.flag);
    }
    hipStream_t handle = stream.is_null && below(3) == 0 && !world.gentle ? hipStreamLegacy : stream.stream;
    auto made = [&] {
        OK(hipSetDevice(stream.device));
        work(handle);
    };
    std::thread later;
    if (!flags.empty()) {
        later = std::thread([&flags] {
            usleep(1000);
            for (unsigned *flag : flags) __atomic_store_n(flag, 1u, __ATOMIC_RELEASE);
        });
    }
    if (stream.thread == 1 || (stream.thread < 0 && below(4) == 0)) world.thread->run(made);
    else made();
    if (later.joinable()) later.join();
}

// Operations after one that is still held are not done, and nothing has failed.
static void expect_unfinished(hipError_t code, const Set &all) {
    bool is_held = false;
    for (Hold &hold : world.holds) is_held |= hold.is_held && all[hold.op];
    if (code == hipErrorNotReady || (code == hipSuccess && !is_held)) return;
    fail(std::string("a query says ") + hipGetErrorName(code));
}

static void compare(Region &region, const unsigned *words) {
    for (size_t at = 0; at < region.words; at++) {
        if (words[at] == region.model[at]) continue;
        fail("word " + std::to_string(at) + " of " + region.name + " is " + std::to_string(words[at]) + ", not " +
             std::to_string(region.model[at]));
    }
}

static void check_host(Region &region) {
    note("host reads", &region, nullptr, "");
    compare(region, region.memory);
}

static void add_region(Place place, int device, size_t words, unsigned *memory) {
    static const char *names[] = {"device", "pinned", "pageable"};
    Region &region = world.regions.emplace_back();
    region.name = std::string(names[place]) + " " + std::to_string(world.regions.size());
    region.place = place, region.device = device, region.words = words, region.memory = memory;
    region.model.resize(words);
    if (memory) return;
    OK(hipSetDevice(device));
    switch (place) {
    case DEVICE: OK(hipMalloc(&region.memory, words * 4)); break;
    case PINNED: OK(hipHostMalloc(&region.memory, words * 4, 0)); break;
    case PAGEABLE: region.memory = static_cast<unsigned *>(malloc(words * 4)); break;
    }
}

static void add_stream(const char *name, hipStream_t stream, int device, int thread, bool is_null, bool is_blocking) {
    std::string whole = name + std::string(" of ") + std::to_string(device);
    world.streams.push_back({whole, stream, device, thread, is_null, is_blocking, Set()});
}

static void begin() {
    OK(hipGetDeviceCount(&world.devices));
    world.devices = std::min(world.devices, 2);
    world.thread = new Thread;
    int can = 0;
    OK(hipDeviceGetAttribute(&can, hipDeviceAttributeCanUseStreamWaitValue, 0));
    world.has_values = can;
    OK(hipHostMalloc(&world.flags, Set().size() * 4, 0));
    for (int device = 0; device < world.devices; device++) {
        OK(hipSetDevice(device));
        // Sizes below and above the limits of copies by the host, by one staging buffer, and in pieces.
        for (size_t words : {16, 16, 1000, 1000, 20000, 270000}) add_region(DEVICE, device, words, nullptr);
        for (size_t words : {16, 1000, 20000}) add_region(PINNED, device, words, nullptr);
        add_stream("null", nullptr, device, -1, true, false);
        add_stream("own", hipStreamPerThread, device, 0, false, true);
        add_stream("other's own", hipStreamPerThread, device, 1, false, true);
        for (int number = 0; number < 4; number++) {
            hipStream_t stream;
            OK(hipStreamCreateWithFlags(&stream, number < 2 ? hipStreamDefault : hipStreamNonBlocking));
            add_stream(number < 2 ? "blocking" : "non-blocking", stream, device, -1, false, number < 2);
        }
        for (int number = 0; number < 2; number++) {
            hipEvent_t event;
            OK(hipEventCreateWithFlags(&event, number ? hipEventDisableTiming : hipEventDefault));
            world.events.push_back({"event " + std::to_string(world.events.size()), event, device, Set()});
        }
    }
    for (size_t words : {16, 1000, 20000, 270000}) add_region(PAGEABLE, 0, words, nullptr);
    OK(hipSetDevice(0));
    void *address;
    OK(hipGetSymbolAddress(&address, HIP_SYMBOL(variable)));
    add_region(DEVICE, 0, sizeof variable / 4, static_cast<unsigned *>(address));
    world.regions.back().symbol = true;
}

// New contents everywhere, and nothing pending.
static void begin_program(unsigned seed, unsigned number) {
    world.number = number;
    world.random = (seed + 1) * 0x9e3779b97f4a7c15ul + number * 0xbf58476d1ce4e5b9ul + 1;
    for (int warm = 0; warm < 4; warm++) below(2);
    world.host.reset();
    world.operations = 0;
    world.log.clear();
    for (Stream &stream : world.streams) stream.last.reset();
    for (Event &event : world.events) event.at.reset();
    for (Region &region : world.regions) {
        region.writer = -1, region.readers.clear();
        for (size_t at = 0; at < region.words; at++) region.model[at] = unsigned(at) * 3 + unsigned(below(100));
        OK(hipMemcpy(region.memory, region.model.data(), region.words * 4, hipMemcpyDefault));
    }
    // An event for which a program waits was recorded in it, or long before.
    for (int device = 0; device < world.devices; device++) {
        OK(hipSetDevice(device));
        OK(hipDeviceSynchronize());
    }
}

// Releases everything, and compares all memory with the model. Returns a sum of it.
static unsigned long end_program() {
    for (Hold &hold : world.holds) __atomic_store_n(hold.flag, 1u, __ATOMIC_RELEASE);
    world.holds.clear();
    for (int device = 0; device < world.devices; device++) {
        OK(hipSetDevice(device));
        OK(hipDeviceSynchronize());
    }
    unsigned long sum = 0;
    std::vector<unsigned> words;
    for (auto region = world.regions.begin(); region != world.regions.end();) {
        words.resize(region->words);
        OK(hipMemcpy(words.data(), region->memory, region->words * 4, hipMemcpyDefault));
        compare(*region, words.data());
        for (unsigned word : words) sum = sum * 0x100000001b3ul + word;
        auto next = std::next(region);
        if (region->pool) {
            OK(hipFree(region->memory));
            world.regions.erase(region);
        }
        region = next;
    }
    world.pools = 0;
    for (hipGraphExec_t exec : world.execs) OK(hipGraphExecDestroy(exec));
    world.execs.clear();
    world.calls.clear();
    return sum;
}
