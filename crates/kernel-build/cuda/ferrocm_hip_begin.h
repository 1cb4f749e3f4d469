// Read before each of HIP's headers, so that they find HIP's own names. No guard: it is read once for each.
#if defined(__FERROCM_CUDA__)
#include "ferrocm_hip_names.h"
#endif
