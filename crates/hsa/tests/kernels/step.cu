// A kernel that works, one that faults, and a variable.

__device__ int step = 2;

extern "C" __global__ void advance(int* values) {
    values[__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x()] += step;
}

extern "C" __global__ void stray(int* values) { values[1l << 40] = 0; }
