// What fused attention reads keys and values from, and how they get into LDS.
#pragma once
#include "float8.cuh"
#include "staging.cuh"

// How keys and values are stored.
enum Stored : unsigned { STORED_AS_QUERIES, STORED_F8, STORED_I8 };

// Keys or values of one head of one sequence.
struct Cache {
    // Keys follow each other, or, with a table, `block_size` of them in each block.
    const char *at;
    size_t row, block;
    const unsigned *table;
    unsigned block_size, blocks;
    // What a key's numbers are to be multiplied with; null: nothing.
    const float *scales;
    size_t scale_row, scale_block;
    // The last key that may be read.
    unsigned last;

    // The block a key is in. What the table says is data, which must not lead out of the cache.
    __device__ __forceinline__ unsigned block_of(unsigned key) const { return min(table[key / block_size], blocks - 1); }
    template <unsigned SIZE> __device__ __forceinline__ const char *place(unsigned key) const {
        if (table == nullptr)
            return at + key * row * SIZE;
        return at + (block_of(key) * block + key % block_size * row) * SIZE;
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

// Reads neighbours of one key: `DWORDS` dwords of them as numbers of type T.
template <typename T, Stored STORED, unsigned DWORDS> __device__ __forceinline__ void read_stored(unsigned *to, const char *place, float scale) {
    if constexpr (STORED == STORED_AS_QUERIES) {
        read_dwords<DWORDS>(to, place);
    } else {
        unsigned raw[DWORDS / 2];
        read_dwords<DWORDS / 2>(raw, place);
#pragma unroll
        for (unsigned i = 0; i < DWORDS; ++i)
            to[i] = packed<T>(stored_byte<STORED>(raw[i / 2], i % 2 * 2) * scale, stored_byte<STORED>(raw[i / 2], i % 2 * 2 + 1) * scale);
    }
}

// Copies `KEYS` keys and values from `key0` on, `dims` dimensions from `dim0` on.
// Keys stand where the product `M` has them so that it can be chained.
template <typename T, typename M, unsigned KEYS, unsigned DIM, unsigned THREADS> struct KeyTile {
    static constexpr unsigned CHUNK = 16 / sizeof(T);
    // Keys are rows along the dimensions, values are rows along the keys.
    static constexpr unsigned KEY_PITCH = DIM + CHUNK, VALUE_PITCH = KEYS + CHUNK;
    static constexpr unsigned SIZE = KEYS * KEY_PITCH > DIM * VALUE_PITCH ? KEYS * KEY_PITCH : DIM * VALUE_PITCH;

    // Keys beyond the last are left as they are: their scores are replaced.
    template <Stored STORED>
    static __device__ __forceinline__ void copy_keys(const Cache &cache, T *tile, unsigned key0, unsigned dim0, unsigned dims) {
        constexpr unsigned BYTES = STORED == STORED_AS_QUERIES ? sizeof(T) : 1, MOST = KEYS * (DIM / CHUNK) / THREADS;
        const unsigned chunks = dims / CHUNK, count = min(KEYS, cache.last + 1 - key0) * chunks;
        // Divides by `chunks`, which is at most 32: exact for fewer than 2,048.
        const unsigned inverse = 65536 / chunks + 1;
        const char *corner = cache.at + (key0 * cache.row + dim0) * BYTES;
        Chunk held[MOST];
#pragma unroll
        for (unsigned i = 0; i < MOST; ++i) {
            if (i * THREADS >= count)
                break;
            // Threads that have nothing to do do what the last one does.
            const unsigned index = min(threadIdx.x + i * THREADS, count - 1);
            const unsigned key = index * inverse >> 16, column = (index - key * chunks) * CHUNK;
            const char *place = cache.table == nullptr ? corner + lane_offset((key * static_cast<unsigned>(cache.row) + column) * BYTES)
                                                       : cache.place<BYTES>(key0 + key) + (dim0 + column) * BYTES;
            read_stored<T, STORED, 4>(held[i].x, place, STORED == STORED_AS_QUERIES ? 1.0f : cache.scale(key0 + key));
        }
#pragma unroll
        for (unsigned i = 0; i < MOST; ++i) {
            if (i * THREADS >= count)
                break;
            // Threads that have nothing to do do what the last one does.
            const unsigned index = min(threadIdx.x + i * THREADS, count - 1);
            const unsigned key = index * inverse >> 16, column = (index - key * chunks) * CHUNK;
            *reinterpret_cast<Chunk *>(tile + M::chained_place(key) * KEY_PITCH + column) = held[i];
        }
    }

    // Values beyond the last are the last: their weights are 0, which only numbers times 0 are.
    template <Stored STORED>
    static __device__ __forceinline__ void copy_values(const Cache &cache, T *tile, unsigned key0, unsigned dim0, unsigned dims) {
        constexpr unsigned BYTES = STORED == STORED_AS_QUERIES ? sizeof(T) : 1;
        static_assert(DIM / 4 * (KEYS / CHUNK) == THREADS, "each thread has 4 rows of a chunk");
        // As in `Staging`: 8 neighbouring lanes store to different banks.
        const unsigned row = (threadIdx.x % 2 + threadIdx.x / 8 % (DIM / 8) * 2) * 4, chunk = threadIdx.x / 2 % 4 + threadIdx.x / DIM * 4;
        if (row >= dims)
            return;
        unsigned held[16];
        const unsigned first = chunk * CHUNK;
        if (cache.table == nullptr && key0 + KEYS - 1 <= cache.last) {
            const char *corner = cache.at + (key0 * cache.row + dim0) * BYTES;
            const unsigned offset = (first * static_cast<unsigned>(cache.row) + row) * BYTES;
#pragma unroll
            for (unsigned d = 0; d < CHUNK; ++d)
                read_stored<T, STORED, sizeof(T)>(held + d * sizeof(T), corner + d * cache.row * BYTES + lane_offset(offset),
                                                  STORED == STORED_AS_QUERIES ? 1.0f : cache.scale(key0 + first + d));
        } else {
#pragma unroll
            for (unsigned d = 0; d < CHUNK; ++d) {
                const unsigned key = min(key0 + first + d, cache.last);
                read_stored<T, STORED, sizeof(T)>(held + d * sizeof(T), cache.place<BYTES>(key) + (dim0 + row) * BYTES,
                                                  STORED == STORED_AS_QUERIES ? 1.0f : cache.scale(key));
            }
        }
#pragma unroll
        for (unsigned r = 0; r < 4; ++r)
            *reinterpret_cast<Chunk *>(tile + (row + r) * VALUE_PITCH + chunk * CHUNK) = turned<sizeof(T)>(held, r);
    }

    // As the cache is stored; 4-byte queries have a cache of their own type.
    static __device__ __forceinline__ void copy_keys(Stored stored, const Cache &cache, T *tile, unsigned key0, unsigned dim0, unsigned dims) {
        if constexpr (sizeof(T) == 2) {
            if (stored == STORED_F8)
                return copy_keys<STORED_F8>(cache, tile, key0, dim0, dims);
            if (stored == STORED_I8)
                return copy_keys<STORED_I8>(cache, tile, key0, dim0, dims);
        }
        copy_keys<STORED_AS_QUERIES>(cache, tile, key0, dim0, dims);
    }
    static __device__ __forceinline__ void copy_values(Stored stored, const Cache &cache, T *tile, unsigned key0, unsigned dim0, unsigned dims) {
        if constexpr (sizeof(T) == 2) {
            if (stored == STORED_F8)
                return copy_values<STORED_F8>(cache, tile, key0, dim0, dims);
            if (stored == STORED_I8)
                return copy_values<STORED_I8>(cache, tile, key0, dim0, dims);
        }
        copy_values<STORED_AS_QUERIES>(cache, tile, key0, dim0, dims);
    }
};
