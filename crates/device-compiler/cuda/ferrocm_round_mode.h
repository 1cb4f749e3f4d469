// How CUDA's runtime and its formats of eight and four bits name roundings.
#pragma once
#undef cudaRoundNearest
#undef cudaRoundZero
#undef cudaRoundPosInf
#undef cudaRoundMinInf
typedef enum cudaRoundMode {
    cudaRoundNearest = 0, cudaRoundZero = 1, cudaRoundPosInf = 2, cudaRoundMinInf = 3,
} cudaRoundMode;
