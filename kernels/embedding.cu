// Embedding look-up: rows of a table by ids.
//
// embedding_I(table, ids, out, tokens, row_bytes, rows)     I = u32, i64: the type of ids
//   table   rows × row_bytes; out   tokens × row_bytes
//   An id that is negative or at least `rows` gives a row of zeros.
#include "overlap.cuh"
#include "rows.cuh"

#define EMBEDDING(I, NAME)                                                                                             \
    extern "C" __global__ void embedding_##NAME(const uint8_t *table, const I *ids, uint8_t *out, const size_t tokens, const size_t row_bytes, \
                                                const size_t rows) {                                                   \
        let_next_begin();                                                                                              \
        wait_for_previous();                                                                                           \
        /* as an unsigned number, a negative id is beyond every table */                                                   \
        gather_rows(table, out, tokens, row_bytes, rows, [=](size_t i) { return static_cast<size_t>(ids[i]); });       \
    }                                                                                                                  \
    OVERLAPS(embedding_##NAME)
EMBEDDING(uint32_t, u32)
EMBEDDING(int64_t, i64)
