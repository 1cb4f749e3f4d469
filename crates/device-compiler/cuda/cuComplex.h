// CUDA's <cuComplex.h> for AMD targets.
#pragma once
#define CU_COMPLEX_H_
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "ferrocm_hip_begin.h"
// A complex number of CUDA is a float2.
#undef float2
#include <hip/hip_complex.h>
#include "ferrocm_hip_end.h"

#define cuFloatComplex hipFloatComplex
#define cuDoubleComplex hipDoubleComplex
#define cuComplex hipComplex
#define make_cuFloatComplex make_hipFloatComplex
#define make_cuDoubleComplex make_hipDoubleComplex
#define make_cuComplex make_hipComplex
#define cuCrealf hipCrealf
#define cuCimagf hipCimagf
#define cuConjf hipConjf
#define cuCaddf hipCaddf
#define cuCsubf hipCsubf
#define cuCmulf hipCmulf
#define cuCdivf hipCdivf
#define cuCabsf hipCabsf
#define cuCfmaf hipCfmaf
#define cuCreal hipCreal
#define cuCimag hipCimag
#define cuConj hipConj
#define cuCadd hipCadd
#define cuCsub hipCsub
#define cuCmul hipCmul
#define cuCdiv hipCdiv
#define cuCabs hipCabs
#define cuCfma hipCfma
#define cuComplexFloatToDouble hipComplexFloatToDouble
#define cuComplexDoubleToFloat hipComplexDoubleToFloat
#include "ferrocm_letters_end.h"
