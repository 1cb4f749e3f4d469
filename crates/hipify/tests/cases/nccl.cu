#include <nccl.h>
void reduce(ncclComm_t comm, cudaStream_t stream) {
  ncclAllReduce(a, b, 4, ncclFloat, ncclSum, comm, stream);
}
