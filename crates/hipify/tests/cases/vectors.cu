#include <cuda_runtime.h>
#include "helper_math.h"
__host__ __device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__host__ __device__ float4 operator*(float4 a, const float4 &b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
__device__ float2 operator*(const float2& a, float b) { return make_float2(a.x * b, a.y * b); }
__device__ float4 operator/(float4 a, float4 b) { return make_float4(a.x / b.x, a.y / b.y, a.z / b.z, a.w / b.w); }
struct mine { float x; };
__device__ mine operator-(mine a, mine b) { return {a.x - b.x}; }
__global__ void k(float4* out) {
  register float x = 1;
  *out = make_float4(0.f) + lerp(a, b, x) + make_float4(1, 2, 3, 4);
}
int main() { return rsqrtf(4.f) > 0; }
