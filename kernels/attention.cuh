// Where fused attention reads keys and values, and how it copies them to LDS.
#pragma once
#include "float8.cuh"
#include "staging.cuh"

// How keys and values are stored.
enum Stored : unsigned { STORED_AS_QUERIES, STORED_F8, STORED_I8 };

// Keys or values of one head of one sequence.
struct Cache {
    // Keys follow each other; with a table, each block has `block_size` of them.
    const char *at;
    size_t row, block;
    const unsigned *table;
    unsigned block_size, blocks;
    // The factors of a key's numbers; null: none.
    const float *scales;
    size_t scale_row, scale_block;
    // The last key that may be read.
    unsigned last;

    // The block that a key is in. The table is data from the caller and must not lead out of the cache.
    __device__ __forceinline__ unsigned block_of(unsigned key) const { return min(table[key / block_size], blocks - 1); }
    template <unsigned SIZE> __device__ __forceinline__ const char *place(unsigned key) const {
        if (table == nullptr)
            return at + key * row * SIZE;
        return at + (block_of(key) * block + key % block_size * row) * SIZE;
    }
    // Where its scale is, if there are some.
    __device__ __forceinline__ const float *scale_place(unsigned key) const {
        return table == nullptr ? scales + key * scale_row : scales + block_of(key) * scale_block + key % block_size * scale_row;
    }
    __device__ __forceinline__ float scale(unsigned key) const {
        if (scales == nullptr)
            return 1.0f;
        if (table == nullptr)
            return scales[key * scale_row];
        return scales[block_of(key) * scale_block + key % block_size * scale_row];
    }
};

// A byte of a dword as a number.
template <Stored STORED> __device__ __forceinline__ float stored_byte(unsigned dword, unsigned index) {
    if constexpr (STORED == STORED_F8)
        return f8_to_float({static_cast<uint8_t>(dword >> index * 8)});
    else
        return static_cast<float>(static_cast<int8_t>(dword >> index * 8));
}

// Converts numbers in bytes, times a scale, to numbers of type T, two in each of `DWORDS` dwords.
template <typename T, Stored STORED, unsigned DWORDS> __device__ __forceinline__ void widen(unsigned *to, const unsigned *bytes, float scale) {
#pragma unroll
    for (unsigned i = 0; i < DWORDS; ++i)
        to[i] = packed<T>(stored_byte<STORED>(bytes[i / 2], i % 2 * 2) * scale, stored_byte<STORED>(bytes[i / 2], i % 2 * 2 + 1) * scale);
}

// Copies `KEYS` keys and values from `key0`, `dims` dimensions from `dim0`. Keys are placed where
// the product `M` needs them for chaining.
template <typename T, typename M, unsigned KEYS, unsigned DIM, unsigned THREADS> struct KeyTile {
    static constexpr unsigned CHUNK = 16 / sizeof(T);
    // Keys are rows along the dimensions, values are rows along the keys.
    static constexpr unsigned KEY_PITCH = DIM + CHUNK, VALUE_PITCH = KEYS + CHUNK;
    static constexpr unsigned SIZE = KEYS * KEY_PITCH > DIM * VALUE_PITCH ? KEYS * KEY_PITCH : DIM * VALUE_PITCH;

    // Elements of T, or the bytes of the cache that become numbers of T.
    template <bool BYTES> static constexpr unsigned SIZE_OF = BYTES ? 1 : sizeof(T);

    // Keys beyond the last are left unchanged: their scores are replaced.
    template <bool BYTES>
    static __device__ __forceinline__ void copy_keys(Stored stored, const Cache &cache, T *tile, unsigned key0, unsigned dim0, unsigned dims) {
        constexpr unsigned ELEMENT = SIZE_OF<BYTES>, DWORDS = CHUNK * ELEMENT / 4, MOST = KEYS * (DIM / CHUNK) / THREADS;
        const unsigned chunks = dims / CHUNK, count = min(KEYS, cache.last + 1 - key0) * chunks;
        // Divides by `chunks`, which is at most 32: exact for fewer than 2,048.
        const unsigned inverse = 65536 / chunks + 1, thread = not_kept(threadIdx.x);
        const char *corner = cache.at + (key0 * cache.row + dim0) * ELEMENT;
        // Anything not read is set to 0. Otherwise it would be the data of the previous tile, which would have to be
        // kept for that.
        unsigned held[MOST * DWORDS] = {};
        float scales[MOST] = {};
#pragma unroll
        for (unsigned i = 0; i < MOST; ++i) {
            if (i * THREADS >= count)
                break;
            // Threads without work repeat that of the last one.
            const unsigned index = min(thread + i * THREADS, count - 1);
            const unsigned key = index * inverse >> 16, column = (index - key * chunks) * CHUNK;
            const char *place = cache.table == nullptr ? corner + lane_offset((key * static_cast<unsigned>(cache.row) + column) * ELEMENT)
                                                       : cache.place<ELEMENT>(key0 + key) + (dim0 + column) * ELEMENT;
            read_dwords<DWORDS>(held + i * DWORDS, place);
            if (BYTES)
                scales[i] = cache.scale(key0 + key);
        }
#pragma unroll
        for (unsigned i = 0; i < MOST; ++i) {
            if (i * THREADS >= count)
                break;
            const unsigned index = min(thread + i * THREADS, count - 1);
            const unsigned key = index * inverse >> 16, column = (index - key * chunks) * CHUNK;
            Chunk chunk;
            if constexpr (!BYTES)
                chunk = {held[i * 4], held[i * 4 + 1], held[i * 4 + 2], held[i * 4 + 3]};
            else if (stored == STORED_F8)
                widen<T, STORED_F8, 4>(chunk.x, held + i * DWORDS, scales[i]);
            else
                widen<T, STORED_I8, 4>(chunk.x, held + i * DWORDS, scales[i]);
            *reinterpret_cast<Chunk *>(tile + M::chained_place(key) * KEY_PITCH + column) = chunk;
        }
    }

    // Values beyond the last repeat the last. Their weights are 0, and only numbers times 0 give 0.
    template <bool BYTES>
    static __device__ __forceinline__ void copy_values(Stored stored, const Cache &cache, T *tile, unsigned key0, unsigned dim0, unsigned dims) {
        constexpr unsigned ELEMENT = SIZE_OF<BYTES>;
        static_assert(DIM / 4 * (KEYS / CHUNK) == THREADS, "each thread has 4 rows of a chunk");
        // As in `Staging`: 8 neighbouring lanes store to different banks.
        const unsigned thread = not_kept(threadIdx.x);
        const unsigned row = (thread % 2 + thread / 8 % (DIM / 8) * 2) * 4, chunk = thread / 2 % 4 + thread / DIM * 4;
        if (row >= dims)
            return;
        // 4 elements of each key.
        unsigned held[CHUNK * ELEMENT];
        float scales[CHUNK];
        const unsigned first = chunk * CHUNK;
        if (cache.table == nullptr && key0 + KEYS - 1 <= cache.last) {
            const char *corner = cache.at + (key0 * cache.row + dim0) * ELEMENT;
            const unsigned step = static_cast<unsigned>(cache.row) * ELEMENT, offset = first * step + row * ELEMENT;
#pragma unroll
            for (unsigned d = 0; d < CHUNK; ++d)
                read_dwords<ELEMENT>(held + d * ELEMENT, corner + lane_offset(offset + d * step));
        } else {
#pragma unroll
            for (unsigned d = 0; d < CHUNK; ++d)
                read_dwords<ELEMENT>(held + d * ELEMENT,
                                     cache.place<ELEMENT>(min(key0 + first + d, cache.last)) + (dim0 + row) * ELEMENT);
        }
        if constexpr (BYTES) {
#pragma unroll
            for (unsigned d = 0; d < CHUNK; ++d)
                scales[d] = cache.scale(min(key0 + first + d, cache.last));
            unsigned wide[CHUNK * sizeof(T)];
            if (stored == STORED_F8) {
#pragma unroll
                for (unsigned d = 0; d < CHUNK; ++d)
                    widen<T, STORED_F8, sizeof(T)>(wide + d * sizeof(T), held + d, scales[d]);
            } else {
#pragma unroll
                for (unsigned d = 0; d < CHUNK; ++d)
                    widen<T, STORED_I8, sizeof(T)>(wide + d * sizeof(T), held + d, scales[d]);
            }
            store_rows(tile, row, chunk, wide);
        } else {
            store_rows(tile, row, chunk, held);
        }
    }

    // Stores 4 rows of a chunk of adjacent keys.
    static __device__ __forceinline__ void store_rows(T *tile, unsigned row, unsigned chunk, const unsigned *group) {
#pragma unroll
        for (unsigned r = 0; r < 4; ++r)
            *reinterpret_cast<Chunk *>(tile + (row + r) * VALUE_PITCH + chunk * CHUNK) = turned<sizeof(T)>(group, r);
    }

    // Selects by how the cache is stored; 4-byte queries have a cache of their own type.
    static __device__ __forceinline__ void copy_keys(Stored stored, const Cache &cache, T *tile, unsigned key0, unsigned dim0, unsigned dims) {
        if (sizeof(T) == 2 && stored != STORED_AS_QUERIES)
            return copy_keys<sizeof(T) == 2>(stored, cache, tile, key0, dim0, dims);
        copy_keys<false>(stored, cache, tile, key0, dim0, dims);
    }
    static __device__ __forceinline__ void copy_values(Stored stored, const Cache &cache, T *tile, unsigned key0, unsigned dim0, unsigned dims) {
        if (sizeof(T) == 2 && stored != STORED_AS_QUERIES)
            return copy_values<sizeof(T) == 2>(stored, cache, tile, key0, dim0, dims);
        copy_values<false>(stored, cache, tile, key0, dim0, dims);
    }
};
