// A program for RCCL: all ranks in one process, or with the argument `processes` each in its own.
#if __has_include(<rccl/rccl.h>)
#include <hip/hip_runtime_api.h>
#define HIP_INCLUDE_HIP_HIP_RUNTIME_H
#define HIP_INCLUDE_HIP_HIP_FP16_H
#include <rccl/rccl.h>
#else
// The declarations of the headers that are used below.
#include <stddef.h>
typedef struct ihipStream_t* hipStream_t;
typedef struct ncclComm* ncclComm_t;
typedef struct { char internal[128]; } ncclUniqueId;
enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2, ncclInt32 = 2, ncclFloat32 = 7, ncclSum = 0, ncclMax = 2 };
enum { ncclSuccess = 0, ncclInvalidArgument = 4 };
int hipSetDevice(int);
int hipGetDeviceCount(int*);
int hipStreamCreate(hipStream_t*);
int hipStreamSynchronize(hipStream_t);
int hipStreamDestroy(hipStream_t);
int hipMalloc(void**, size_t);
int hipFree(void*);
int hipMemcpy(void*, const void*, size_t, int);
int ncclGetVersion(int*);
const char* ncclGetErrorString(int);
int ncclGetUniqueId(ncclUniqueId*);
int ncclCommInitAll(ncclComm_t*, int, const int*);
int ncclCommInitRank(ncclComm_t*, int, ncclUniqueId, int);
int ncclCommCount(ncclComm_t, int*);
int ncclCommUserRank(ncclComm_t, int*);
int ncclCommSplit(ncclComm_t, int, int, ncclComm_t*, void*);
int ncclCommDestroy(ncclComm_t);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void*, void*, size_t, int, int, ncclComm_t, hipStream_t);
int ncclBroadcast(const void*, void*, size_t, int, int, ncclComm_t, hipStream_t);
int ncclSend(const void*, size_t, int, int, ncclComm_t, hipStream_t);
int ncclRecv(void*, size_t, int, int, ncclComm_t, hipStream_t);
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call)                                                                         \
    do {                                                                                 \
        int status_ = (int)(call);                                                       \
        if (status_) fprintf(stderr, "%d: %s: %d\n", __LINE__, #call, status_), exit(1); \
    } while (0)
#define EXPECT(condition)                                                                         \
    do {                                                                                          \
        if (!(condition)) fprintf(stderr, "%d: %s does not hold\n", __LINE__, #condition), exit(1); \
    } while (0)

enum { RANKS = 4, COUNT = 10007 };

static float value(int rank, int index) { return (float)((rank * 31 + index * 7) % 64 - 32); }

struct Rank {
    int rank, device;
    ncclComm_t comm;
    hipStream_t stream;
    void *send, *receive;
};

// The operations of the ranks in this process.
static void work(struct Rank* ranks, int count) {
    static float in[COUNT], out[COUNT];
    for (int i = 0; i < count; i++) {
        struct Rank* one = &ranks[i];
        int size = 0, rank = -1;
        OK(ncclCommCount(one->comm, &size));
        OK(ncclCommUserRank(one->comm, &rank));
        EXPECT(size == RANKS && rank == one->rank);
        OK(hipSetDevice(one->device));
        OK(hipStreamCreate(&one->stream));
        OK(hipMalloc(&one->send, sizeof in));
        OK(hipMalloc(&one->receive, sizeof in));
        for (int j = 0; j < COUNT; j++) in[j] = value(one->rank, j);
        OK(hipMemcpy(one->send, in, sizeof in, hipMemcpyHostToDevice));
    }
    for (int step = 0; step < 3; step++) {
        OK(ncclGroupStart());
        for (int i = 0; i < count; i++) {
            struct Rank* one = &ranks[i];
            if (step == 0) OK(ncclAllReduce(one->send, one->receive, COUNT, ncclFloat32, ncclSum, one->comm, one->stream));
            if (step == 1) OK(ncclBroadcast(one->send, one->receive, COUNT, ncclFloat32, 2, one->comm, one->stream));
            if (step == 2) {
                OK(ncclSend(one->send, COUNT, ncclFloat32, (one->rank + 1) % RANKS, one->comm, one->stream));
                OK(ncclRecv(one->receive, COUNT, ncclFloat32, (one->rank + RANKS - 1) % RANKS, one->comm, one->stream));
            }
        }
        OK(ncclGroupEnd());
        for (int i = 0; i < count; i++) {
            struct Rank* one = &ranks[i];
            OK(hipSetDevice(one->device));
            OK(hipStreamSynchronize(one->stream));
            OK(hipMemcpy(out, one->receive, sizeof out, hipMemcpyDeviceToHost));
            for (int j = 0; j < COUNT; j++) {
                double expected = 0;
                for (int rank = 0; rank < RANKS && step == 0; rank++) expected += value(rank, j);
                if (step == 1) expected = value(2, j);
                if (step == 2) expected = value((one->rank + RANKS - 1) % RANKS, j);
                EXPECT(out[j] == expected);
            }
        }
    }
    // Split into even and odd ranks, in reverse order.
    ncclComm_t halves[RANKS] = {0};
    OK(ncclGroupStart());
    for (int i = 0; i < count; i++) {
        OK(hipSetDevice(ranks[i].device));
        OK(ncclCommSplit(ranks[i].comm, ranks[i].rank % 2, -ranks[i].rank, &halves[i], NULL));
    }
    OK(ncclGroupEnd());
    for (int i = 0; i < count; i++) {
        int size = 0, rank = -1;
        OK(ncclCommCount(halves[i], &size));
        OK(ncclCommUserRank(halves[i], &rank));
        EXPECT(size == RANKS / 2 && rank == 1 - ranks[i].rank / 2);
    }
    EXPECT(ncclAllReduce(NULL, ranks[0].receive, COUNT, ncclFloat32, ncclSum, ranks[0].comm, ranks[0].stream) ==
           ncclInvalidArgument);
    EXPECT(strlen(ncclGetErrorString(ncclInvalidArgument)) > 3);
    for (int i = 0; i < count; i++) {
        OK(ncclCommDestroy(halves[i]));
        OK(ncclCommDestroy(ranks[i].comm));
        OK(hipSetDevice(ranks[i].device));
        OK(hipFree(ranks[i].send));
        OK(hipFree(ranks[i].receive));
        OK(hipStreamDestroy(ranks[i].stream));
    }
}

static void one_process(void) {
    struct Rank ranks[RANKS] = {0};
    ncclComm_t comms[RANKS];
    int there = 0, version = 0;
    OK(ncclGetVersion(&version));
    EXPECT(version >= 22700);
    OK(hipGetDeviceCount(&there));
    EXPECT(there >= RANKS);
    OK(ncclCommInitAll(comms, RANKS, NULL));
    for (int rank = 0; rank < RANKS; rank++) ranks[rank].rank = ranks[rank].device = rank, ranks[rank].comm = comms[rank];
    work(ranks, RANKS);
}

// Fork before loading anything that starts threads.
static void processes(void) {
    int pipes[RANKS][2], failed = 0;
    ncclUniqueId id;
    for (int rank = 0; rank < RANKS; rank++) {
        EXPECT(pipe(pipes[rank]) == 0);
        pid_t child = fork();
        EXPECT(child >= 0);
        if (child == 0) {
            struct Rank own = {0};
            own.rank = own.device = rank;
            EXPECT(read(pipes[rank][0], &id, sizeof id) == sizeof id);
            OK(hipSetDevice(rank));
            OK(ncclCommInitRank(&own.comm, RANKS, id, rank));
            work(&own, 1);
            exit(0);
        }
    }
    OK(ncclGetUniqueId(&id));
    for (int rank = 0; rank < RANKS; rank++) EXPECT(write(pipes[rank][1], &id, sizeof id) == sizeof id);
    for (int rank = 0; rank < RANKS; rank++) {
        int status = 0;
        EXPECT(wait(&status) > 0);
        failed += status != 0;
    }
    EXPECT(failed == 0);
}

int main(int count, char** arguments) {
    if (count > 1 && strcmp(arguments[1], "processes") == 0) processes();
    else one_process();
    puts("done");
    return 0;
}
