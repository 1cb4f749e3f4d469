// Random programs with streams and their synchronisation, compared with a simple model of the order of operations.
//
//     order SEED PROGRAMS [alone] [host] [gentle] [trace]
//
// For each operation, the model has the set of operations that HIP's documentation orders before it. An operation is generated only if
// that set contains all earlier uses of its memory. So all results are determined, and equal those of running the operations one by
// one. Kernels that run until they are released come first, so that an operation that fails to wait is always early.
//
// A call that may wait releases all of them, and calls of AMD's library wait in many places. With `alone`, a call releases only those
// that it has to wait for, and must not wait for others. With `host`, host functions wait for release, too. `gentle` leaves out what
// AMD's HIP 7.2 gets wrong. `trace` prints operations as they are made, which shows where a program hangs. On every library, a seed and
// options give the same programs and print the same sum of all results.
#include "order_world.h"

// The position of a copy's or a fill's words in its region.
struct Shape {
    size_t width, height, depth, pitch, rows;
    size_t words() const { return ((depth - 1) * rows + height - 1) * pitch + width; }
    size_t at(size_t z, size_t y) const { return (z * rows + y) * pitch; }
};

// Shapes of the same width, height and depth in two regions.
static void shapes(size_t left, size_t right, Shape &one, Shape &two) {
    size_t words = std::min(left, right);
    size_t dimensions = words < 16 ? 0 : below(4);
    size_t height = dimensions < 2 ? 1 : 1 + below(4), depth = dimensions < 3 ? 1 : 1 + below(3);
    size_t row = words / (height * depth);
    size_t width = 1 + (below(2) ? row - 1 : below(row));
    auto shape = [&](size_t room) {
        size_t widest = room / (height * depth);
        size_t pitch = height * depth == 1 || below(2) ? width : width + below(widest - width + 1);
        return Shape{width, height, depth, pitch, height};
    };
    one = shape(left), two = shape(right);
}

static hipPitchedPtr pitched(Region &region, const Shape &shape) {
    return make_hipPitchedPtr(region.memory, shape.pitch * 4, shape.width * 4, shape.rows);
}

static void end_of_2d(Region &region, const Shape &shape, hipMemoryType &type, hipDeviceptr_t &device, void *&host,
                      size_t &pitch) {
    type = region.place == DEVICE ? hipMemoryTypeDevice : hipMemoryTypeHost;
    device = region.place == DEVICE ? region.memory : nullptr;
    host = region.place == DEVICE ? nullptr : region.memory;
    pitch = shape.pitch * 4;
}

static void copy_model(Region &to, const Shape &there, const Region &from, const Shape &here) {
    for (size_t z = 0; z < here.depth; z++)
        for (size_t y = 0; y < here.height; y++)
            for (size_t x = 0; x < here.width; x++) to.model[there.at(z, y) + x] = from.model[here.at(z, y) + x];
}

static void copy(Stream &stream, bool waits) {
    Set before = stream.before();
    auto reaches = [&](Region &r) { return r.place != DEVICE || world.devices == 1 || r.device == stream.device || below(2); };
    Region *from = pick(before, false, [&](Region &r) {
        // Pageable memory may be read by the call.
        return reaches(r) && (r.place != PAGEABLE || r.is_still());
    });
    Region *to = pick(before, true, [&](Region &r) { return &r != from && reaches(r); });
    if (!from || !to) return;
    bool is_device[2] = {to->place == DEVICE, from->place == DEVICE};
    hipMemcpyKind kind = is_device[0] ? (is_device[1] ? hipMemcpyDeviceToDevice : hipMemcpyHostToDevice)
                                      : (is_device[1] ? hipMemcpyDeviceToHost : hipMemcpyHostToHost);
    if (below(3) == 0) kind = hipMemcpyDefault;
    Shape there, here;
    shapes(to->words, from->words, there, here);
    // Only rows are copied on other streams while the program waits.
    if (waits && !stream.is_null) there = here = {here.width, 1, 1, here.width, 1};
    size_t bytes = here.width * 4;
    unsigned way = below(4);
    bool is_row = here.height * here.depth == 1, is_box = here.depth > 1;
    bool of_variable = is_row && !waits && (to->symbol || from->symbol) && stream.device == 0 && kind != hipMemcpyDefault;
    int op = stream.operation("copy", from, to, waits ? "waits" : is_row ? "row" : is_box ? "box" : "rectangle");
    void *target = to->memory, *source = from->memory;
    // Operations that use pageable memory, or go through the host, may wait.
    bool may_wait = waits || to->place == PAGEABLE || from->place == PAGEABLE || to->device != from->device;
    call(stream, may_wait || !world.alone ? stream.last : Set(), [&](hipStream_t handle) {
        if (of_variable && to->symbol) {
            OK(hipMemcpyToSymbolAsync(HIP_SYMBOL(variable), source, bytes, 0, kind, handle));
        } else if (of_variable) {
            OK(hipMemcpyFromSymbolAsync(target, HIP_SYMBOL(variable), bytes, 0, kind, handle));
        } else if (is_row && waits) {
            if (stream.is_null && way < 2) OK(hipMemcpy(target, source, bytes, kind));
            else OK(hipMemcpyWithStream(target, source, bytes, kind, handle));
        } else if (is_row && way == 0 && kind == hipMemcpyHostToDevice) {
            OK(hipMemcpyHtoDAsync(target, source, bytes, handle));
        } else if (is_row && way == 0 && kind == hipMemcpyDeviceToHost) {
            OK(hipMemcpyDtoHAsync(target, source, bytes, handle));
        } else if (is_row && way == 0 && kind == hipMemcpyDeviceToDevice) {
            OK(hipMemcpyDtoDAsync(target, source, bytes, handle));
        } else if (is_row) {
            OK(hipMemcpyAsync(target, source, bytes, kind, handle));
        } else if (!is_box && way < 2) {
            if (waits) OK(hipMemcpy2D(target, there.pitch * 4, source, here.pitch * 4, bytes, here.height, kind));
            else OK(hipMemcpy2DAsync(target, there.pitch * 4, source, here.pitch * 4, bytes, here.height, kind, handle));
        } else if (!is_box) {
            hip_Memcpy2D parameters = {};
            void *host = nullptr;
            end_of_2d(*from, here, parameters.srcMemoryType, parameters.srcDevice, host, parameters.srcPitch);
            parameters.srcHost = host;
            end_of_2d(*to, there, parameters.dstMemoryType, parameters.dstDevice, parameters.dstHost, parameters.dstPitch);
            parameters.WidthInBytes = bytes;
            parameters.Height = here.height;
            if (waits) OK(hipMemcpyParam2D(&parameters));
            else OK(hipMemcpyParam2DAsync(&parameters, handle));
        } else {
            hipMemcpy3DParms parameters = {};
            parameters.srcPtr = pitched(*from, here);
            parameters.dstPtr = pitched(*to, there);
            parameters.extent = make_hipExtent(bytes, here.height, here.depth);
            parameters.kind = kind;
            if (waits) OK(hipMemcpy3D(&parameters));
            else OK(hipMemcpy3DAsync(&parameters, handle));
        }
    });
    from->read(op), to->written(op);
    copy_model(*to, there, *from, here);
    // Copies between devices' memory, and from pageable memory, may end after the call.
    if (waits && (to->place != DEVICE || from->place == PINNED)) world.host |= stream.last;
}

static void fill(Stream &stream, bool waits) {
    Region *to = pick(stream.before(), true, [&](Region &r) {
        return r.place != PAGEABLE && (r.place != DEVICE || r.device == stream.device);
    });
    if (!to) return;
    Shape shape, same;
    shapes(to->words, to->words, shape, same);
    shape.depth = 1;
    unsigned way = below(2), value = below(1u << 31);
    bool is_row = shape.height == 1;
    bool of_words = is_row && way;
    unsigned word = of_words ? value : (value & 255) * 0x01010101u;
    int op = stream.operation("fill", nullptr, to, waits ? "waits" : is_row ? "row" : "rectangle");
    call(stream, (waits && to->place != DEVICE) || !world.alone ? stream.last : Set(), [&](hipStream_t handle) {
        if (of_words) {
            if (waits) OK(hipMemsetD32(to->memory, value, shape.width));
            else OK(hipMemsetD32Async(to->memory, value, shape.width, handle));
        } else if (is_row) {
            if (waits) OK(hipMemset(to->memory, value & 255, shape.width * 4));
            else OK(hipMemsetAsync(to->memory, value & 255, shape.width * 4, handle));
        } else {
            if (waits) OK(hipMemset2D(to->memory, shape.pitch * 4, value & 255, shape.width * 4, shape.height));
            else OK(hipMemset2DAsync(to->memory, shape.pitch * 4, value & 255, shape.width * 4, shape.height, handle));
        }
    });
    to->written(op);
    for (size_t y = 0; y < shape.height; y++)
        for (size_t x = 0; x < shape.width; x++) to->model[shape.at(0, y) + x] = word;
}

static void kernel(Stream &stream, bool holds) {
    Set before = stream.before();
    auto reaches = [&](Region &r) { return r.place == PINNED || (r.place == DEVICE && r.device == stream.device); };
    Region *from = pick(before, false, reaches);
    Region *to = pick(before, true, [&](Region &r) { return reaches(r) && &r != from; });
    if (!from || !to) return;
    int op = stream.operation("kernel", from, to, holds ? "holds" : "");
    Step step = step_of(*from, *to);
    unsigned *flag = holds ? hold(op) : nullptr;
    call(stream, Set(), [&](hipStream_t handle) {
        transform<<<holds ? 1 : 4, 128, 0, handle>>>(step, flag);
        OK(hipGetLastError());
    });
    from->read(op), to->written(op);
    transform_model(step, to->model.data(), from->model.data());
}

static void host_function(Stream &stream, bool holds) {
    Set before = stream.before();
    auto reaches = [&](Region &r) { return r.place != DEVICE; };
    Region *from = pick(before, false, reaches);
    Region *to = pick(before, true, [&](Region &r) { return reaches(r) && &r != from; });
    if (!from || !to) return;
    int op = stream.operation("host function", from, to, holds ? "holds" : "");
    Call &step = keep({step_of(*from, *to), nullptr});
    if (holds) step.flag = hold(op);
    bool as_callback = below(3) == 0;
    call(stream, world.alone ? Set() : stream.last, [&](hipStream_t handle) {
        if (as_callback) OK(hipStreamAddCallback(handle, on_callback, &step, 0));
        else OK(hipLaunchHostFunc(handle, on_host, &step));
    });
    from->read(op), to->written(op);
    transform_model(step.step, to->model.data(), from->model.data());
}

// Some operations as a graph: those that use the same memory depend on each other, the others are independent.
static void graph(Stream &stream) {
    struct Node {
        hipGraphNode_t node;
        Region *from, *to;
    };
    Set before = stream.before();
    std::vector<Node> nodes;
    int op = -1;
    hipGraph_t graph;
    OK(hipSetDevice(stream.device));
    OK(hipGraphCreate(&graph, 0));
    struct Change {
        hipGraphNode_t node;
        Region *from, *to;
        size_t bytes;
    };
    std::vector<Change> changes;
    for (size_t count = 1 + below(4); count > 0; count--) {
        Set known = before;
        if (op >= 0) known[op] = true;
        unsigned what = below(4);
        auto on_device = [&](Region &r) { return r.place == PINNED || (r.place == DEVICE && r.device == stream.device); };
        auto reaches = [&](Region &r) { return what == 3 ? r.place != DEVICE : on_device(r); };
        Region *from = pick(known, false, reaches);
        Region *to = pick(known, true, [&](Region &r) { return reaches(r) && &r != from; });
        if (!from || !to) continue;
        if (op < 0) op = stream.operation("graph", from, to, "");
        else note("    and", from, to, "");
        std::vector<hipGraphNode_t> after;
        // AMD's HIP 7.2 gives wrong results for branches that do not depend on each other.
        for (Node &other : nodes)
            if (world.gentle || other.to == from || other.to == to || other.from == to) after.push_back(other.node);
        hipGraphNode_t node;
        Step step = step_of(*from, *to);
        size_t bytes = step.words * 4;
        if (what == 0) {
            unsigned *flag = nullptr;
            void *arguments[] = {&step, &flag};
            hipKernelNodeParams parameters = {};
            parameters.func = reinterpret_cast<void *>(transform);
            parameters.gridDim = dim3(2), parameters.blockDim = dim3(128);
            parameters.kernelParams = arguments;
            OK(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters));
            transform_model(step, to->model.data(), from->model.data());
        } else if (what == 1) {
            Region *first = below(2) ? from : nullptr;
            // Copied from elsewhere, while nothing changes the executable graph.
            if (!first) {
                for (Region &other : world.regions)
                    if (&other != to && other.place == from->place && other.device == from->device && !other.symbol &&
                        !other.pool && other.words >= step.words)
                        first = &other;
                changes.push_back({nullptr, from, to, bytes});
            }
            OK(hipGraphAddMemcpyNode1D(&node, graph, after.data(), after.size(), to->memory, first->memory, bytes,
                                       hipMemcpyDefault));
            if (!changes.empty() && !changes.back().node) changes.back().node = node;
            std::copy_n(from->model.begin(), step.words, to->model.begin());
        } else if (what == 2) {
            hipMemsetParams parameters = {};
            parameters.dst = to->memory;
            parameters.elementSize = 4;
            parameters.width = step.words, parameters.height = 1;
            parameters.pitch = bytes;
            parameters.value = step.salt;
            OK(hipGraphAddMemsetNode(&node, graph, after.data(), after.size(), &parameters));
            std::fill_n(to->model.begin(), step.words, step.salt);
        } else {
            hipHostNodeParams parameters = {on_host, &keep({step, nullptr})};
            OK(hipGraphAddHostNode(&node, graph, after.data(), after.size(), &parameters));
            transform_model(step, to->model.data(), from->model.data());
        }
        nodes.push_back({node, from, to});
        from->read(op), to->written(op);
    }
    if (op >= 0) {
        hipGraphExec_t exec;
        OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
        for (Change &change : changes)
            OK(hipGraphExecMemcpyNodeSetParams1D(exec, change.node, change.to->memory, change.from->memory, change.bytes,
                                                 hipMemcpyDefault));
        call(stream, world.alone ? Set() : stream.last, [&](hipStream_t handle) { OK(hipGraphLaunch(exec, handle)); });
        world.execs.push_back(exec);
    }
    OK(hipGraphDestroy(graph));
}

// Writes of words by the stream.
static void write_value(Stream &stream) {
    Region *to = pick(stream.before(), true, [&](Region &r) { return r.place == PINNED; });
    if (!to || !world.has_values) return;
    unsigned value = below(1000);
    int op = stream.operation("value", nullptr, to, "");
    call(stream, world.alone ? Set() : stream.last, [&](hipStream_t handle) { OK(hipStreamWriteValue32(handle, to->memory, value, 0)); });
    to->written(op);
    to->model[0] = value;
}

// Memory of a pool, which begins with known contents.
static void allocate(Stream &stream) {
    if (world.pools == 3) return;
    static const size_t sizes[] = {64, 5000};
    size_t words = sizes[below(2)];
    unsigned value = below(1000);
    Region &made = world.regions.emplace_back();
    made.place = DEVICE, made.device = stream.device, made.words = words, made.pool = true;
    made.model.assign(words, value);
    made.name = "pool " + std::to_string(world.named++);
    world.pools++;
    int op = stream.operation("allocate", nullptr, &made, "");
    call(stream, world.alone ? Set() : stream.last, [&](hipStream_t handle) {
        OK(hipMallocAsync(reinterpret_cast<void **>(&made.memory), words * 4, handle));
        OK(hipMemsetD32Async(made.memory, value, words, handle));
    });
    made.written(op);
}

static void release(Stream &stream) {
    Region *freed = pick(stream.before(), true, [&](Region &r) { return r.pool && r.device == stream.device; });
    if (!freed) return;
    stream.operation("free", nullptr, freed, "");
    call(stream, world.alone ? Set() : stream.last, [&](hipStream_t handle) { OK(hipFreeAsync(freed->memory, handle)); });
    world.pools--;
    world.regions.remove_if([&](Region &r) { return &r == freed; });
}

static void event(Stream &stream) {
    Event &event = world.events[below(world.events.size())];
    // AMD's dereferences special handles, which are not pointers.
    if (world.gentle && stream.stream == hipStreamPerThread) return;
    // Wait only for events that this program has recorded.
    switch (event.at.any() ? below(4) : 0) {
    case 0:
    case 1:
        if (event.device != stream.device) return;
        stream.operation("record", nullptr, nullptr, event.name.c_str());
        event.at = stream.last;
        call(stream, Set(), [&](hipStream_t handle) { OK(hipEventRecord(event.event, handle)); });
        break;
    case 2:
        stream.operation("wait", nullptr, nullptr, event.name.c_str());
        stream.last |= event.at;
        call(stream, Set(), [&](hipStream_t handle) { OK(hipStreamWaitEvent(handle, event.event, 0)); });
        break;
    default:
        if (below(2)) {
            note("query", nullptr, nullptr, event.name.c_str());
            expect_unfinished(hipEventQuery(event.event), event.at);
        } else {
            note("synchronise", nullptr, nullptr, event.name.c_str());
            call(stream, event.at, [&](hipStream_t) { OK(hipEventSynchronize(event.event)); });
            world.host |= event.at;
        }
    }
}

static void synchronise(Stream &stream) {
    Set all = stream.is_null ? stream.before() : stream.last;
    unsigned way = below(8);
    note(way < 3 ? "query" : way < 7 ? "synchronise" : "synchronise device of", nullptr, nullptr, stream.name.c_str());
    if (way < 3) {
        hipError_t code;
        call(stream, Set(), [&](hipStream_t handle) { code = hipStreamQuery(handle); });
        expect_unfinished(code, all);
    } else if (way < 7) {
        call(stream, all, [&](hipStream_t handle) { OK(hipStreamSynchronize(handle)); });
        world.host |= all;
    } else {
        Set device;
        for (Stream &other : world.streams)
            if (other.device == stream.device) device |= other.last;
        call(stream, device, [&](hipStream_t) { OK(hipDeviceSynchronize()); });
        world.host |= device;
    }
}

// The program's own accesses.
static void on_the_host() {
    Region *region = pick(world.host, false, [](Region &r) { return r.place != DEVICE; });
    if (!region) return;
    check_host(*region);
    if (!region->may_be_written(world.host)) return;
    note("host writes", nullptr, region, "");
    for (size_t at = 0; at < region->words; at++) region->memory[at] = region->model[at] = region->model[at] * 7 + 3;
}

int main(int count, char **arguments) {
    EXPECT(count >= 3);
    unsigned seed = atoi(arguments[1]), programs = atoi(arguments[2]);
    bool host_holds = false;
    for (int at = 3; at < count; at++) {
        if (!strcmp(arguments[at], "alone")) world.alone = true;
        if (!strcmp(arguments[at], "host")) host_holds = true;
        if (!strcmp(arguments[at], "gentle")) world.gentle = true;
        if (!strcmp(arguments[at], "trace")) world.traces = true;
    }
    begin();
    unsigned long sum = 0;
    for (unsigned number = 0; number < programs; number++) {
        begin_program(seed, number);
        for (size_t operations = 20 + below(30); operations > 0; operations--) {
            Stream &stream = world.streams[below(world.streams.size())];
            bool holds = world.held() < 3;
            switch (below(20)) {
            case 0 ... 5: copy(stream, false); break;
            case 6: copy(stream, stream.is_null || below(2)); break;
            case 7: fill(stream, false); break;
            case 8: fill(stream, stream.is_null); break;
            case 9 ... 10: kernel(stream, holds); break;
            case 11: kernel(stream, false); break;
            case 12: host_function(stream, holds && host_holds); break;
            case 13 ... 14: event(stream); break;
            case 15: synchronise(stream); break;
            // AMD's dereferences a null pointer when nodes are made for the second device.
            case 16:
                if (!world.gentle || world.devices == 1) graph(stream);
                break;
            case 17: below(2) ? allocate(stream) : release(stream); break;
            case 18: below(3) ? on_the_host() : write_value(stream); break;
            default: kernel(world.null_of(stream.device), holds); break;
            }
        }
        sum = sum * 31 + end_program();
    }
    printf("%lu\n", sum);
    fflush(stdout);
    return 0;
}
