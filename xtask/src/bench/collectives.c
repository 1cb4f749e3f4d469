// Collectives by whichever RCCL and HIP the loader finds, as `cargo xtask bench rccl` runs it: cc -o collectives collectives.c -ldl
//
// collectives RANKS REPEAT SIZE...
//
// All ranks are devices of this process, which enqueues each operation for all of them in a group. Prints a line for each operation and
// size: name, bytes, and for each of REPEAT times the seconds until all ranks were done and the seconds of all processors that it took.
// The size is that of the larger side of a rank: what goes into an all-reduce, what comes out of an all-gather.
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST_RANKS = 16, INT8 = 0, FLOAT32 = 7, SUM = 0, DEVICE_TO_DEVICE = 3 };

typedef void *Stream, *Comm;

static int (*set_device)(int), (*stream_create)(Stream *), (*stream_synchronize)(Stream), (*device_malloc)(void **, size_t);
static int (*copy_async)(void *, const void *, size_t, int, Stream), (*fill)(void *, int, size_t);
static int (*init_all)(Comm *, int, const int *), (*group_start)(void), (*group_end)(void), (*destroy)(Comm);
static int (*all_reduce)(const void *, void *, size_t, int, int, Comm, Stream);
static int (*reduce)(const void *, void *, size_t, int, int, int, Comm, Stream);
static int (*broadcast)(const void *, void *, size_t, int, int, Comm, Stream);
static int (*all_gather)(const void *, void *, size_t, int, Comm, Stream);
static int (*reduce_scatter)(const void *, void *, size_t, int, int, Comm, Stream);
static int (*all_to_all)(const void *, void *, size_t, int, Comm, Stream);
static int (*gather)(const void *, void *, size_t, int, int, Comm, Stream);
static int (*scatter)(const void *, void *, size_t, int, int, Comm, Stream);
static int (*send_to)(const void *, size_t, int, int, Comm, Stream);
static int (*receive_from)(void *, size_t, int, int, Comm, Stream);

static const char *const NAMES[] = {"copy",           "all_reduce", "reduce", "broadcast", "all_gather",
                                    "reduce_scatter", "all_to_all", "gather", "scatter",   "send_receive"};
enum { COPY, ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER, SEND_RECEIVE, OPERATIONS };

static int ranks;
static Comm comms[MOST_RANKS];
static Stream streams[MOST_RANKS];
static char *from[MOST_RANKS], *to[MOST_RANKS];

static void expect(int status, const char *what) {
    if (status != 0) {
        fprintf(stderr, "%s: status %d\n", what, status);
        exit(1);
    }
}
#define OK(call) expect((int)(call), #call)

static void find(void *library, const char *name, void *function) {
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    memcpy(function, &found, sizeof found);
}

static void load(void) {
    void *hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_GLOBAL), *rccl = dlopen("librccl.so.1", RTLD_NOW);
    find(hip, "hipSetDevice", &set_device);
    find(hip, "hipStreamCreate", &stream_create);
    find(hip, "hipStreamSynchronize", &stream_synchronize);
    find(hip, "hipMalloc", &device_malloc);
    find(hip, "hipMemcpyAsync", &copy_async);
    find(hip, "hipMemset", &fill);
    find(rccl, "ncclCommInitAll", &init_all);
    find(rccl, "ncclCommDestroy", &destroy);
    find(rccl, "ncclGroupStart", &group_start);
    find(rccl, "ncclGroupEnd", &group_end);
    find(rccl, "ncclAllReduce", &all_reduce);
    find(rccl, "ncclReduce", &reduce);
    find(rccl, "ncclBroadcast", &broadcast);
    find(rccl, "ncclAllGather", &all_gather);
    find(rccl, "ncclReduceScatter", &reduce_scatter);
    find(rccl, "ncclAllToAll", &all_to_all);
    find(rccl, "ncclGather", &gather);
    find(rccl, "ncclScatter", &scatter);
    find(rccl, "ncclSend", &send_to);
    find(rccl, "ncclRecv", &receive_from);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double processors(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

static void enqueue(int what, int rank, size_t bytes) {
    Comm comm = comms[rank];
    Stream stream = streams[rank];
    char *in = from[rank], *out = to[rank];
    // Parts of a few bytes have no whole floats.
    size_t part = bytes / (size_t)ranks;
    int whole = bytes % 4 == 0 ? FLOAT32 : INT8, parts = part % 4 == 0 ? FLOAT32 : INT8;
    size_t count = whole == FLOAT32 ? bytes / 4 : bytes, share = parts == FLOAT32 ? part / 4 : part;
    switch (what) {
    case ALL_REDUCE: OK(all_reduce(in, out, count, whole, SUM, comm, stream)); break;
    case REDUCE: OK(reduce(in, out, count, whole, SUM, 0, comm, stream)); break;
    case BROADCAST: OK(broadcast(in, out, count, whole, 0, comm, stream)); break;
    case ALL_GATHER: OK(all_gather(in, out, share, parts, comm, stream)); break;
    case REDUCE_SCATTER: OK(reduce_scatter(in, out, share, parts, SUM, comm, stream)); break;
    case ALL_TO_ALL: OK(all_to_all(in, out, share, parts, comm, stream)); break;
    case GATHER: OK(gather(in, out, share, parts, 0, comm, stream)); break;
    case SCATTER: OK(scatter(in, out, share, parts, 0, comm, stream)); break;
    case SEND_RECEIVE:
        OK(send_to(in, count, whole, (rank + 1) % ranks, comm, stream));
        OK(receive_from(out, count, whole, (rank + ranks - 1) % ranks, comm, stream));
        break;
    }
}

static void once(int what, size_t bytes) {
    if (what == COPY) {
        OK(set_device(0));
        OK(copy_async(to[0], from[0], bytes, DEVICE_TO_DEVICE, streams[0]));
        OK(stream_synchronize(streams[0]));
        return;
    }
    OK(group_start());
    for (int rank = 0; rank < ranks; rank++) {
        OK(set_device(rank));
        enqueue(what, rank, bytes);
    }
    OK(group_end());
    for (int rank = 0; rank < ranks; rank++) {
        OK(set_device(rank));
        OK(stream_synchronize(streams[rank]));
    }
}

int main(int count, char **arguments) {
    size_t most = 0;
    if (count < 4) {
        fprintf(stderr, "collectives RANKS REPEAT SIZE...\n");
        return 2;
    }
    ranks = atoi(arguments[1]);
    int repeat = atoi(arguments[2]);
    if (ranks < 1 || ranks > MOST_RANKS) return 2;
    for (int i = 3; i < count; i++) {
        size_t bytes = strtoull(arguments[i], NULL, 10);
        if (bytes > most) most = bytes;
    }
    load();
    for (int rank = 0; rank < ranks; rank++) {
        OK(set_device(rank));
        OK(stream_create(&streams[rank]));
        OK(device_malloc((void **)&from[rank], most));
        OK(device_malloc((void **)&to[rank], most));
        OK(fill(from[rank], 0, most));
    }
    OK(init_all(comms, ranks, NULL));
    for (int what = 0; what < OPERATIONS; what++) {
        for (int i = 3; i < count; i++) {
            size_t bytes = strtoull(arguments[i], NULL, 10);
            // Connections are made when they are first used.
            once(what, bytes);
            printf("%s %zu", NAMES[what], bytes);
            for (int turn = 0; turn < repeat; turn++) {
                double began = now(), used = processors();
                once(what, bytes);
                printf(" %.9f %.9f", now() - began, processors() - used);
            }
            printf("\n");
            fflush(stdout);
        }
    }
    for (int rank = 0; rank < ranks; rank++) {
        OK(set_device(rank));
        OK(destroy(comms[rank]));
    }
    return 0;
}
