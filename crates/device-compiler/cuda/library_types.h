// CUDA's <library_types.h> for AMD targets: names of the number types of libraries.
#pragma once
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "ferrocm_library_names.h"
#include "ferrocm_letters_end.h"
