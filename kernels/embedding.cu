// Embedding look-up: rows of a table by ids. Rows are copied as bytes, so that a kernel serves every element type.
//
// embedding_I(table, ids, out, tokens, row_bytes, rows)     I = u32, i64: the type of ids
//   table   rows × row_bytes; out   tokens × row_bytes
//   An id that is negative or at least `rows` gives a row of zeros.
#include "reduce.cuh"

// Copies in units of a type that both sides are aligned to.
template <typename Unit, typename I>
__device__ __forceinline__ void embed(const uint8_t *table, const I *ids, uint8_t *out, size_t tokens, size_t row_bytes, size_t rows) {
    const size_t units = row_bytes / sizeof(Unit);
    FOR_EACH_ELEMENT(i, tokens * units) {
        const Division at = divide(i, units);
        const I id = ids[at.quotient];
        const Unit *row = reinterpret_cast<const Unit *>(table + static_cast<size_t>(id) * row_bytes);
        Unit *to = reinterpret_cast<Unit *>(out) + i;
        if (static_cast<uint64_t>(id) < rows) // a negative id is beyond every table as an unsigned one
            *to = row[at.remainder];
        else
            *to = Unit{};
    }
}

#define EMBEDDING(I, NAME)                                                                                             \
    extern "C" __global__ void embedding_##NAME(const uint8_t *table, const I *ids, uint8_t *out, const size_t tokens, const size_t row_bytes, \
                                                const size_t rows) {                                                   \
        if (is_wide(table) && is_wide(out) && row_bytes % 16 == 0)                                                     \
            embed<uint4>(table, ids, out, tokens, row_bytes, rows);                                                    \
        else                                                                                                           \
            embed<uint16_t>(table, ids, out, tokens, row_bytes, rows);                                                 \
    }
EMBEDDING(uint32_t, u32)
EMBEDDING(int64_t, i64)
