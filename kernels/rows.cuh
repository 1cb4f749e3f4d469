// Copies whole rows as bytes, so that one kernel serves every element type of at least two bytes.
#pragma once
#include "reduce.cuh"

// Copies in units of a type that both sides are aligned to.
template <typename Unit, typename Row>
__device__ __forceinline__ void gather_units(const uint8_t *table, uint8_t *out, size_t count, size_t row_bytes, size_t rows, Row row) {
    const size_t units = row_bytes / sizeof(Unit);
    FOR_EACH_ELEMENT(i, count * units) {
        const Division at = divide(i, units);
        const size_t from = row(at.quotient);
        Unit *to = reinterpret_cast<Unit *>(out) + i;
        if (from < rows)
            *to = reinterpret_cast<const Unit *>(table + from * row_bytes)[at.remainder];
        else
            *to = Unit{};
    }
}

// Row i of the `count` rows of `out` is row `row(i)` of the table, or zeros if the table has fewer rows.
template <typename Row>
__device__ __forceinline__ void gather_rows(const uint8_t *table, uint8_t *out, size_t count, size_t row_bytes, size_t rows, Row row) {
    if (is_wide(table) && is_wide(out) && row_bytes % 16 == 0)
        gather_units<uint4>(table, out, count, row_bytes, rows, row);
    else
        gather_units<uint16_t>(table, out, count, row_bytes, rows, row);
}
