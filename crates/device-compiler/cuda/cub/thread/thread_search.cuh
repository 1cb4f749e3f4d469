// CUB's <cub/thread/thread_search.cuh> for AMD targets: binary searches of one thread.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
// Where the diagonal of a merge crosses its path: `x` items are from `a`, `y` from `b`. Of equal items, those of `a` come first.
template <typename A, typename B, typename Offset, typename Coordinate>
CUB_INLINE void MergePathSearch(Offset diagonal, A a, B b, Offset a_length, Offset b_length, Coordinate &coordinate) {
    Offset low = diagonal > b_length ? diagonal - b_length : 0, high = diagonal < a_length ? diagonal : a_length;
    while (low < high) {
        const Offset middle = low + (high - low) / 2;
        if (a[middle] <= b[diagonal - middle - 1])
            low = middle + 1;
        else
            high = middle;
    }
    coordinate.x = low < a_length ? low : a_length;
    coordinate.y = diagonal - low;
}
// The first item that is not less than a value.
template <typename Input, typename Offset, typename T> CUB_INLINE Offset LowerBound(Input input, Offset count, T value) {
    Offset begin = 0;
    while (count > 0) {
        const Offset half = count >> 1;
        if (input[begin + half] < value)
            begin += half + 1, count -= half + 1;
        else
            count = half;
    }
    return begin;
}
// The first item that is greater than a value.
template <typename Input, typename Offset, typename T> CUB_INLINE Offset UpperBound(Input input, Offset count, T value) {
    Offset begin = 0;
    while (count > 0) {
        const Offset half = count >> 1;
        if (value < input[begin + half])
            count = half;
        else
            begin += half + 1, count -= half + 1;
    }
    return begin;
}
} // namespace cub
#include "../../ferrocm_letters_end.h"
