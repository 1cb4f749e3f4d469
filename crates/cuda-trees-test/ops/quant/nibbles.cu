// 4-bit weights, eight per word, converted to halves with bit tricks; sums of byte products; and 4-byte SIMD.
#include "../core/types.cuh"
#include "../core/stamp.cuh"

template <int Table> OPS_INLINE unsigned lop3(unsigned a, unsigned b, unsigned c) {
    unsigned d;
    asm volatile("lop3.b32 %0, %1, %2, %3, %4;\n" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(Table));
    return d;
}
template <int Select> OPS_INLINE unsigned permute(unsigned a, unsigned b) {
    unsigned d;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "n"(Select));
    return d;
}
// 1024 + nibble is a half whose lowest bits are the nibble's.
OPS_INLINE void nibbles_to_halves(unsigned packed, half2 (&out)[4]) {
    constexpr unsigned and_or = (0xf0 & 0xcc) | 0xaa, low = 0x000f000f, high = 0x00f000f0, magic = 0x64006400;
    unsigned words[4];
    words[0] = lop3<and_or>(packed, low, magic);
    words[1] = lop3<and_or>(packed, high, magic);
    packed >>= 8;
    words[2] = lop3<and_or>(packed, low, magic);
    words[3] = lop3<and_or>(packed, high, magic);
    constexpr unsigned minus_1032 = 0xe408e408, sixteenth = 0x2c002c00, minus_72 = 0xd480d480;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        asm volatile("add.f16x2 %0, %1, %2;\n" : "=r"(words[i]) : "r"(words[i]), "r"(minus_1032));
        asm volatile("fma.rn.f16x2 %0, %1, %2, %3;\n" : "=r"(words[i + 1]) : "r"(words[i + 1]), "r"(sixteenth), "r"(minus_72));
    }
    for (int i = 0; i < 4; i++)
        out[i] = *reinterpret_cast<half2 *>(&words[i]);
}
// Each word gives eight halves: nibbles 0 and 4, 1 and 5, 2 and 6, 3 and 7, minus 8.
extern "C" __global__ void unpack_nibbles(const unsigned *in, half2 *out, unsigned words) {
    GRID_STRIDE(i, words) {
        half2 parts[4];
        nibbles_to_halves(in[i], parts);
        uint4 whole;
        unsigned *at = reinterpret_cast<unsigned *>(&whole);
        for (int k = 0; k < 4; k++)
            at[k] = *reinterpret_cast<unsigned *>(&parts[k]);
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(out + i * 4), "r"(whole.x), "r"(whole.y), "r"(whole.z), "r"(whole.w)
                     : "memory");
    }
}
// 4-bit codes looked up in a table of sixteen signed bytes, four at once.
extern "C" __global__ void look_up_codes(const unsigned *in, unsigned *out, unsigned words) {
    constexpr unsigned table[4] = {0xcb988371, 0xfcf3e8dd, 0x35261a0d, 0x71594535};
    GRID_STRIDE(i, words) {
        const unsigned q = in[i];
        for (int part = 0; part < 2; part++) {
            const unsigned codes = q >> (16 * part);
            const unsigned low = __byte_perm(table[0], table[1], codes), high = __byte_perm(table[2], table[3], codes);
            const unsigned which = 0x32103210u | (codes & 0x8888u) >> 1;
            out[i * 2 + part] = __byte_perm(low, high, which);
        }
    }
}
// The product of rows of signed bytes.
extern "C" __global__ void dot_bytes(const int *a, const int *b, int *out, unsigned words) {
    int sum = 0;
    for (unsigned i = threadIdx.x; i < words; i += 32)
        sum = __dp4a(a[blockIdx.x * words + i], b[i], sum);
#if __CUDA_ARCH__ >= 800
    sum = __reduce_add_sync(0xffffffff, sum);
#else
#error the guard of an older architecture was taken
#endif
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
    (void)permute<0x5140>(0u, 0u);
}
// Interleaves the bytes of two words.
extern "C" __global__ void interleave(const unsigned *a, const unsigned *b, uint2 *out, unsigned words) {
    GRID_STRIDE(i, words)
        out[i] = make_uint2(permute<0x5140>(a[i], b[i]), permute<0x7362>(a[i], b[i]));
}
