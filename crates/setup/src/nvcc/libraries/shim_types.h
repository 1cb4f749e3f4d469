// What CUDA's and C's headers have, as far as the libraries' own code uses it.
#pragma once
#include "ferrocm_library_c.h"
typedef struct CUstream_st *cudaStream_t;
typedef struct FILE FILE;
void *malloc(size_t);
void *calloc(size_t, size_t);
void free(void *);
int sched_yield(void);
