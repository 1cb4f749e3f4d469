cudaMallo xcudaMalloc cudaMalloc_ cudaMalloc$ a.cudaMalloc cudaMalloc
#define cudaMalloc my_malloc
#define PASTE(x) cuda##x
cuda.h
int cudaMalloc = 0; CUoccupancyB2DSize callback;
