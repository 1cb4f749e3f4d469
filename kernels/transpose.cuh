// Copies to contiguous tensors in which neighbours along one dimension are neighbours in memory, and those along another one are in the
// source: tiles that a workgroup has in shared memory, so that both are accessed row by row.
#pragma once
#include "reduce.cuh"

// Extents from which on tiles are worth while.
constexpr unsigned LEAST_SIDE = 16;

template <typename T> struct Transposition {
    static constexpr unsigned SIDE = sizeof(T) == 1 ? 128 : sizeof(T) == 8 ? 32 : 64;
    // Rows of an odd number of words: the elements of a column are in different banks.
    static constexpr unsigned PADDING = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    // Elements of a word. Of small ones, a thread turns as many words as each has elements, and a tile consists of words: then accesses are
    // as wide as those of larger elements.
    static constexpr unsigned PACKED = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    static constexpr unsigned ACROSS_WORDS = PACKED == 2 ? 64 : 32, ALONG_WORDS = 32;
    static constexpr unsigned SHARED_ELEMENTS = SIDE * (SIDE + PADDING) * sizeof(T), SHARED_WORDS = PACKED * ALONG_WORDS * (ACROSS_WORDS + 1) * 4;
    static constexpr unsigned SHARED = PACKED > 1 && SHARED_WORDS > SHARED_ELEMENTS ? SHARED_WORDS : SHARED_ELEMENTS;

    const size_t *info; // as `Layouts` has it
    unsigned rank;
    unsigned across, along; // the dimension of neighbours in the result, and in the source
    unsigned tiles;         // of SIDE by SIDE

    // A tile: where it begins in the source and in the result, and how much of it there is.
    struct Tile {
        size_t from, to;
        unsigned across_left, along_left;
    };

    __device__ __forceinline__ unsigned extent(unsigned d) const { return static_cast<unsigned>(info[d]); }
    // Whether tiles have such a side. Its extent is counted in 32 bits.
    __device__ __forceinline__ bool is_side(unsigned d) const { return info[d] >= LEAST_SIDE && info[d] >> 32 == 0; }

    // Whether a copy is one, its tiles are counted in 32 bits, and the workgroup is one for them; else there are none.
    __device__ __forceinline__ Transposition(size_t numel, const size_t *info, unsigned rank) : info(info), rank(rank), across(rank), tiles(0) {
        if (block_threads() % SIDE != 0 || numel >> 40 != 0)
            return;
        for (unsigned d = rank; d-- > 0 && across == rank;)
            if (info[d] > 1)
                across = d;
        if (across == rank || info[rank + across] == 1 || !is_side(across))
            return;
        for (along = across; along-- > 0;)
            if (info[rank + along] == 1 && is_side(along)) {
                tiles = count<SIDE, SIDE>();
                return;
            }
    }

    // How many tiles there are of such sides.
    template <unsigned ACROSS, unsigned ALONG> __device__ __forceinline__ unsigned count() const {
        unsigned count = (extent(across) + ACROSS - 1) / ACROSS * ((extent(along) + ALONG - 1) / ALONG);
        for (unsigned d = 0; d < rank; ++d)
            if (d != across && d != along)
                count *= extent(d);
        return count;
    }
    template <unsigned ACROSS, unsigned ALONG> __device__ __forceinline__ Tile tile(unsigned number, size_t stride, size_t out_stride) const {
        const unsigned sides_along = (extent(along) + ALONG - 1) / ALONG, sides_across = (extent(across) + ACROSS - 1) / ACROSS;
        const unsigned over = number / sides_along, i0 = (number - over * sides_along) * ALONG;
        unsigned left = over / sides_across;
        const unsigned j0 = (over - left * sides_across) * ACROSS;
        Tile tile = {i0 + j0 * stride, i0 * out_stride + j0, min(extent(across) - j0, ACROSS), min(extent(along) - i0, ALONG)};
        size_t out_step = 1;
#pragma unroll 1
        for (unsigned d = across + 1; d-- > 0;) {
            if (d != along && d != across) {
                const unsigned quotient = left / extent(d), index = left - quotient * extent(d);
                tile.from += index * info[rank + d];
                tile.to += index * out_step;
                left = quotient;
            }
            out_step *= info[d];
        }
        return tile;
    }
    // From an element to the next along `along` in the result.
    __device__ __forceinline__ size_t out_stride() const {
        size_t stride = 1;
        for (unsigned d = along + 1; d <= across; ++d)
            stride *= info[d];
        return stride;
    }

    // Whether all that is accessed consists of words.
    __device__ __forceinline__ bool in_words(const T *from, const T *out) const {
        bool all = reinterpret_cast<size_t>(from) % 4 == 0 && reinterpret_cast<size_t>(out) % 4 == 0;
        for (unsigned d = 0; d < rank; ++d) {
            if (d == across || d == along)
                all &= info[d] % PACKED == 0;
            if (d != along && info[d] > 1)
                all &= info[rank + d] % PACKED == 0;
        }
        return all;
    }
    // Exchanges rows and columns of elements.
    static __device__ __forceinline__ void turn(uint32_t (&words)[PACKED]) {
        if constexpr (PACKED == 2) {
            const uint32_t low = __byte_perm(words[0], words[1], 0x5410), high = __byte_perm(words[0], words[1], 0x7632);
            words[0] = low, words[1] = high;
        } else if constexpr (PACKED == 4) {
            const uint32_t a = __byte_perm(words[0], words[1], 0x5140), b = __byte_perm(words[2], words[3], 0x5140);
            const uint32_t c = __byte_perm(words[0], words[1], 0x7362), d = __byte_perm(words[2], words[3], 0x7362);
            words[0] = __byte_perm(a, b, 0x5410), words[1] = __byte_perm(a, b, 0x7632);
            words[2] = __byte_perm(c, d, 0x5410), words[3] = __byte_perm(c, d, 0x7632);
        }
    }

    // A workgroup's share, of so many.
    __device__ __forceinline__ void copy(const T *from, T *out, unsigned block, unsigned blocks) const {
        __shared__ alignas(16) unsigned char shared[SHARED];
        if constexpr (PACKED > 1)
            if (in_words(from, out))
                return copy_words(from, out, block, blocks, shared);
        constexpr unsigned AHEAD = 4;
        auto &held = *reinterpret_cast<T(*)[SIDE][SIDE + PADDING]>(shared);
        const unsigned x = block_thread() % SIDE, y = block_thread() / SIDE, step = block_threads() / SIDE;
        const size_t stride = info[rank + across], out_step = out_stride();
#pragma unroll 1
        for (unsigned t = block; t < tiles; t += blocks) {
            const Tile place = tile<SIDE, SIDE>(t, stride, out_step);
            const T *at = from + place.from + (x + y * stride);
            T *to = out + place.to + (x + y * out_step);
#pragma unroll 1
            for (unsigned first = y; first < SIDE; first += AHEAD * step) {
                T elements[AHEAD];
#pragma unroll
                for (unsigned k = 0; k < AHEAD; ++k, at += step * stride)
                    if (x < place.along_left && first + k * step < place.across_left)
                        elements[k] = *at;
#pragma unroll
                for (unsigned k = 0; k < AHEAD; ++k)
                    if (first + k * step < SIDE)
                        held[first + k * step][x] = elements[k];
            }
            __syncthreads();
#pragma unroll 4
            for (unsigned i = y; i < place.along_left; i += step, to += step * out_step)
                if (x < place.across_left)
                    *to = held[x][i];
            __syncthreads();
        }
    }

    // The same by words. Of words that a thread has turned, each is in another plane, so that neighbouring threads store to different banks.
    __device__ __forceinline__ void copy_words(const T *from, T *out, unsigned block, unsigned blocks, unsigned char *shared) const {
        constexpr unsigned ACROSS = ACROSS_WORDS * PACKED, ALONG = ALONG_WORDS * PACKED, AHEAD = 4 / PACKED;
        auto &planes = *reinterpret_cast<uint32_t(*)[PACKED][ALONG_WORDS][ACROSS_WORDS + 1]>(shared);
        const size_t stride = info[rank + across], out_step = out_stride();
        const unsigned all = count<ACROSS, ALONG>();
#pragma unroll 1
        for (unsigned t = block; t < all; t += blocks) {
            const Tile place = tile<ACROSS, ALONG>(t, stride, out_step);
            {
                const unsigned x = block_thread() % ALONG_WORDS, y = block_thread() / ALONG_WORDS, step = block_threads() / ALONG_WORDS;
                const T *at = from + place.from + (x + y * stride) * PACKED;
#pragma unroll 1
                for (unsigned first = y; first < ACROSS_WORDS; first += AHEAD * step) {
                    uint32_t words[AHEAD][PACKED];
#pragma unroll
                    for (unsigned k = 0; k < AHEAD; ++k, at += step * PACKED * stride)
                        if (x * PACKED < place.along_left && (first + k * step) * PACKED < place.across_left)
#pragma unroll
                            for (unsigned r = 0; r < PACKED; ++r)
                                words[k][r] = *reinterpret_cast<const uint32_t *>(at + r * stride);
#pragma unroll
                    for (unsigned k = 0; k < AHEAD; ++k)
                        if (first + k * step < ACROSS_WORDS) {
                            turn(words[k]);
#pragma unroll
                            for (unsigned r = 0; r < PACKED; ++r)
                                planes[r][x][first + k * step] = words[k][r];
                        }
                }
            }
            __syncthreads();
            {
                const unsigned x = block_thread() % ACROSS_WORDS, y = block_thread() / ACROSS_WORDS, step = block_threads() / ACROSS_WORDS;
                T *to = out + place.to + x * PACKED + y * out_step;
#pragma unroll 4
                for (unsigned i = y; i < place.along_left; i += step, to += step * out_step)
                    if (x * PACKED < place.across_left)
                        *reinterpret_cast<uint32_t *>(to) = planes[i % PACKED][i / PACKED][x];
            }
            __syncthreads();
        }
    }
};
