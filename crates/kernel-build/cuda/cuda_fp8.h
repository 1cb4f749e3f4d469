// CUDA's <cuda_fp8.h> for AMD targets. OCP's formats stay OCP's: HIP's types with `_fnuz` are other formats.
#pragma once
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "ferrocm_hip_begin.h"
// gfx942 converts the `_fnuz` formats only, so HIP leaves OCP's to the host there. Taken for a target without any such
// instruction, it gives the device the conversions in software that gfx90a and gfx11 have.
#pragma push_macro("__gfx942__")
#undef __gfx942__
#include <hip/hip_fp8.h>
#pragma pop_macro("__gfx942__")
#include "ferrocm_hip_end.h"

typedef __hip_fp8_e4m3 __nv_fp8_e4m3;
typedef __hip_fp8_e5m2 __nv_fp8_e5m2;
typedef __hip_fp8x2_e4m3 __nv_fp8x2_e4m3;
typedef __hip_fp8x2_e5m2 __nv_fp8x2_e5m2;
typedef __hip_fp8x4_e4m3 __nv_fp8x4_e4m3;
typedef __hip_fp8x4_e5m2 __nv_fp8x4_e5m2;
typedef __hip_fp8_storage_t __nv_fp8_storage_t;
typedef __hip_fp8x2_storage_t __nv_fp8x2_storage_t;
typedef __hip_fp8x4_storage_t __nv_fp8x4_storage_t;

#define __nv_saturation_t __hip_saturation_t
#define __nv_fp8_interpretation_t __hip_fp8_interpretation_t
#define __NV_NOSAT __HIP_NOSAT
#define __NV_SATFINITE __HIP_SATFINITE
#define __NV_E4M3 __HIP_E4M3
#define __NV_E5M2 __HIP_E5M2
#define __nv_cvt_fp8_to_halfraw __hip_cvt_fp8_to_halfraw
#define __nv_cvt_fp8x2_to_halfraw2 __hip_cvt_fp8x2_to_halfraw2
#define __nv_cvt_float_to_fp8 __hip_cvt_float_to_fp8
#define __nv_cvt_float2_to_fp8x2 __hip_cvt_float2_to_fp8x2
#define __nv_cvt_double_to_fp8 __hip_cvt_double_to_fp8
#define __nv_cvt_double2_to_fp8x2 __hip_cvt_double2_to_fp8x2
#define __nv_cvt_halfraw_to_fp8 __hip_cvt_halfraw_to_fp8
#define __nv_cvt_halfraw2_to_fp8x2 __hip_cvt_halfraw2_to_fp8x2
#define __nv_cvt_bfloat16raw_to_fp8 __hip_cvt_bfloat16raw_to_fp8
#define __nv_cvt_bfloat16raw2_to_fp8x2 __hip_cvt_bfloat16raw2_to_fp8x2
#include "ferrocm_letters_end.h"
