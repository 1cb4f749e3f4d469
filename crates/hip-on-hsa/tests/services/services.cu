// Kernels that need the host while they run.
#include <cassert>
#include <cstdio>

// Conversions of all kinds, from a divergent branch.
extern "C" __global__ void conversions(int n, long long wide, double d, const void *pointer) {
    if (threadIdx.x == 0) {
        printf("%d %i %u %o %x %X %c %%\n", -n, n, 3000000000u, 8, 255, 255, 'c');
        printf("%lld %llx %ld %hd %hhd\n", wide, wide, -5L, -2, -1);
        printf("[%5d|%-5d|%05d|%+d|%*d|%.*f]\n", 1, 2, 3, 4, 5, 6, 2, d);
        printf("%f %.3e %g %5.1f\n", d, d, d, d);
        printf("%p|%s|%10s|%-10s|%.2s|\n", pointer, "a text that needs more than one packet, as it has more than fifty-six bytes",
               "right", "left", "cut");
        printf("no arguments\n");
    }
}

// The result of printf: the number of bytes.
extern "C" __global__ void returned(int *out) { out[threadIdx.x] = printf("%s\n", threadIdx.x % 2 ? "odd" : "even"); }

// Every work-item of many workgroups prints its number.
extern "C" __global__ void crowd() {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    printf("item %u of block %u\n", i, blockIdx.x);
}

extern "C" __global__ void checked(int limit) { assert(static_cast<int>(threadIdx.x) < limit && "small enough"); }

extern "C" __global__ void aborted() { abort(); }

struct Node {
    Node *next;
    unsigned value;
};

__device__ Node *list;

// Each work-item adds a node to a list that outlives the kernel.
extern "C" __global__ void push(unsigned *failures) {
    Node *node = static_cast<Node *>(malloc(sizeof(Node)));
    if (!node) {
        atomicAdd(failures, 1u);
        return;
    }
    node->value = blockIdx.x * blockDim.x + threadIdx.x;
    Node *head = __atomic_load_n(&list, __ATOMIC_RELAXED);
    do {
        node->next = head;
    } while (!__atomic_compare_exchange_n(&list, &head, node, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

// Another kernel reads the list, marks its nodes and frees them.
extern "C" __global__ void pop_all(unsigned *seen) {
    while (list) {
        Node *node = list;
        list = node->next;
        seen[node->value]++;
        free(node);
    }
}

// Blocks of all sizes, small ones from slabs and large ones from the host; all bytes are usable and do not overlap.
extern "C" __global__ void sizes(unsigned *failures) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned size = 1 + i % 7; size < 20000; size = size * 3 + 1) {
        unsigned char *bytes = static_cast<unsigned char *>(malloc(size));
        if (!bytes) {
            atomicAdd(failures, 1u);
            return;
        }
        for (unsigned at = 0; at < size; at += 97) bytes[at] = static_cast<unsigned char>(i + at);
        bytes[size - 1] = static_cast<unsigned char>(i);
        for (unsigned at = 0; at + 1 < size; at += 97)
            if (bytes[at] != static_cast<unsigned char>(i + at)) atomicAdd(failures, 1u);
        if (bytes[size - 1] != static_cast<unsigned char>(i)) atomicAdd(failures, 1u);
        free(bytes);
    }
}

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual unsigned corners() const = 0;
};
struct Triangle : Shape {
    __device__ unsigned corners() const override { return 3; }
};
struct Polygon : Shape {
    unsigned count;
    __device__ explicit Polygon(unsigned n) : count(n) {}
    __device__ unsigned corners() const override { return count; }
};

// Objects with virtual functions, with new and delete.
extern "C" __global__ void shapes(unsigned *out) {
    const unsigned i = threadIdx.x;
    Shape *shape = i % 3 == 0 ? static_cast<Shape *>(new Triangle) : new Polygon(i);
    out[i] = shape->corners();
    delete shape;
}

extern "C" __device__ __attribute__((const)) __SIZE_TYPE__ __ockl_get_local_id(unsigned);
typedef unsigned long long Pair __attribute__((ext_vector_type(2)));
extern "C" __device__ Pair __ockl_call_host_function(unsigned long long, unsigned long long, unsigned long long,
                                                     unsigned long long, unsigned long long, unsigned long long,
                                                     unsigned long long, unsigned long long);

// Calls a function of the program.
extern "C" __global__ void call_host(unsigned long long function, unsigned long long *out) {
    const Pair pair = __ockl_call_host_function(function, threadIdx.x, 2, 3, 4, 5, 6, 7);
    out[2 * threadIdx.x] = pair.x;
    out[2 * threadIdx.x + 1] = pair.y;
}

// The workgroups of a grid meet `rounds` times: in every round, each sees what all the others wrote in the
// previous round.
#include <hip/hip_cooperative_groups.h>
extern "C" __global__ void meet(unsigned rounds, unsigned *values, unsigned *failures) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    if (!grid.is_valid()) {
        atomicAdd(failures, 1u);
        return;
    }
    for (unsigned round = 1; round <= rounds; round++) {
        if (threadIdx.x == 0) __atomic_store_n(&values[blockIdx.x], round, __ATOMIC_RELAXED);
        grid.sync();
        for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x)
            if (__atomic_load_n(&values[block], __ATOMIC_RELAXED) != round) atomicAdd(failures, 1u);
        grid.sync();
    }
}

// Recursion that the compiler cannot bound.
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursion(unsigned m, unsigned *out) { out[threadIdx.x] = ackermann(m, threadIdx.x); }
