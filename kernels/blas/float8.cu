// Prepares the operands of products of 8-bit floats: numbers of other types are rounded to 8-bit floats, and rows are laid out along the
// depth, as `matmul.cu` reads them without LDS. They stay 8-bit floats where matrix instructions take those, and otherwise become bf16,
// which represents all of them.
#include "float8.cuh"

constexpr unsigned THREADS = 256;
// Neighbours along the depth that a thread has.
constexpr unsigned EACH = 4;

// `Prepared` of crates/blas-on-kernels/src/gemm/float8.rs.
struct Prepared {
    Memory from;
    int64_t row, deep; // elements from one row to the next, from one place in the depth to the next
    int64_t rows, depth;
    void *to;
    int64_t pitch; // elements from one row to the next there: a multiple of EACH; zeros follow the depth
    Factor alpha;
    unsigned rounded, type, batches; // F8 or BF8; that or BF16
};

__device__ __forceinline__ uint8_t rounded_to(unsigned type, float x) { return type == F8 ? F8Format::round(x) : BF8Format::round(x); }

extern "C" __global__ __launch_bounds__(THREADS) void blas_float8(const Prepared by) {
    // alpha = 0 must not read A and B
    if (value<float>(by.alpha) == 0)
        return;
    const size_t rows = by.rows, chunks = by.pitch / EACH;
    // Neighbouring threads read neighbouring memory in either layout.
    const bool by_columns = by.row < by.deep;
    for (size_t batch = blockIdx.y; batch < by.batches; batch += gridDim.y) {
        const void *from = by.from.of(batch);
        FOR_EACH_ELEMENT(at, rows * chunks) {
            const Division place = divide(at, by_columns ? rows : chunks);
            const size_t row = by_columns ? place.remainder : place.quotient, deep = (by_columns ? place.quotient : place.remainder) * EACH;
            unsigned codes = 0, halves[EACH];
            for (unsigned i = 0; i < EACH; ++i) {
                const int64_t depth = deep + i;
                const float x = depth < by.depth ? read_any<float>(from, by.from.type, row * by.row + depth * by.deep) : 0;
                const uint8_t code = rounded_to(by.rounded, x);
                codes |= static_cast<unsigned>(code) << i * 8;
                halves[i] = __float_as_uint(by.rounded == F8 ? F8Format::widen(code) : BF8Format::widen(code)) >> 16;
            }
            const size_t to = ((batch * rows + row) * chunks + deep / EACH);
            if (by.type == BF16)
                static_cast<uint2 *>(by.to)[to] = {halves[0] | halves[1] << 16, halves[2] | halves[3] << 16};
            else
                static_cast<unsigned *>(by.to)[to] = codes;
        }
    }
}
