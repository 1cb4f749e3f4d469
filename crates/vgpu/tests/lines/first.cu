// Compiled with debug information in all its forms.
template <typename T> struct Place {
    T *at;
    __device__ void set(T value) { *at = value; } // line 4
};
__global__ void first(int *p) {
    Place<int>{p + threadIdx.x}.set(3); // line 7
}
