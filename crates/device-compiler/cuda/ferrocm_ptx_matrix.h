// Matrix instructions of inline PTX as functions. Included by ferrocm_ptx.h, whose types and registers it uses.
#pragma once
#include "ferrocm_letters_begin.h"
namespace __cuda_ptx {
#define __PTX static __device__ __attribute__((always_inline, unused)) inline
// Matrices in shared memory, eight rows of 16 bytes each: lane i of eight has the address of row i, the next eight lanes those of the
// next matrix. Lane i then gets two halves of row i / 4; transposed, of column i / 4.
template <typename A> __PTX u32 matrix_row(A at, u32 lane) { return __cuda_from_lane(as<u32>(at), lane); }
template <bool Transposed, typename D> __PTX void load_matrix(u32 row, u32 matrix, D &d) {
    const u32 lane = __cuda_lane();
    if constexpr (Transposed) {
        const u32 low = matrix_row(row, matrix * 8 + lane % 4 * 2), high = matrix_row(row, matrix * 8 + lane % 4 * 2 + 1);
        set(d, *shared<unsigned short>(low + lane / 4 * 2) | static_cast<u32>(*shared<unsigned short>(high + lane / 4 * 2)) << 16);
    } else
        set(d, *shared<u32>(matrix_row(row, matrix * 8 + lane / 4) + lane % 4 * 4));
}
template <bool T, typename S, typename A> __PTX void ldmatrix(S at, A &a) { load_matrix<T>(as<u32>(at), 0, a); }
template <bool T, typename S, typename A, typename B> __PTX void ldmatrix(S at, A &a, B &b) {
    load_matrix<T>(as<u32>(at), 0, a), load_matrix<T>(as<u32>(at), 1, b);
}
template <bool T, typename S, typename A, typename B, typename C, typename D> __PTX void ldmatrix(S at, A &a, B &b, C &c, D &d) {
    load_matrix<T>(as<u32>(at), 0, a), load_matrix<T>(as<u32>(at), 1, b), load_matrix<T>(as<u32>(at), 2, c), load_matrix<T>(as<u32>(at), 3, d);
}
template <bool Transposed, typename A> __PTX void store_matrix(u32 row, u32 matrix, A a) {
    const u32 lane = __cuda_lane(), word = as<u32>(a);
    if constexpr (Transposed) {
        *shared<unsigned short>(matrix_row(row, matrix * 8 + lane % 4 * 2) + lane / 4 * 2) = static_cast<unsigned short>(word);
        *shared<unsigned short>(matrix_row(row, matrix * 8 + lane % 4 * 2 + 1) + lane / 4 * 2) = static_cast<unsigned short>(word >> 16);
    } else
        *shared<u32>(matrix_row(row, matrix * 8 + lane / 4) + lane % 4 * 4) = word;
}
template <bool T, typename S, typename... A> __PTX void stmatrix(S at, A... words) {
    u32 matrix = 0;
    (store_matrix<T>(as<u32>(at), matrix++, words), ...);
}
template <typename D, typename A> __PTX void movmatrix(D &d, A ra) {
    const u32 a = as<u32>(ra), lane = __cuda_lane(), shift = lane / 4 % 2 * 16;
    const u32 low = __cuda_from_lane(a, lane % 4 * 8 + lane / 8), high = __cuda_from_lane(a, lane % 4 * 8 + 4 + lane / 8);
    set(d, (low >> shift & 0xffff) | (high >> shift) << 16);
}

// Matrix products. Row i of A is in lanes 4i to 4i + 3 (i + 8 in further registers), column i of B in the same lanes; a lane has
// two columns of rows lane / 4 and lane / 4 + 8 of C and D. A word holds as many elements of K as fit.
// An element of a word, by index.
template <typename T> struct element {
    static constexpr int count = 4;
    static __device__ __attribute__((always_inline)) int of(u32 word, int i) { return static_cast<T>(word >> (8 * i)); }
};
template <> struct element<s4> {
    static constexpr int count = 8;
    static __device__ __attribute__((always_inline)) int of(u32 word, int i) { return static_cast<int>(word << (28 - 4 * i)) >> 28; }
};
template <> struct element<u4> {
    static constexpr int count = 8;
    static __device__ __attribute__((always_inline)) int of(u32 word, int i) { return word >> (4 * i) & 15; }
};
#define __PTX_ELEMENT(TYPE, MASK)                                                                                             \
    template <> struct element<TYPE> {                                                                                        \
        static constexpr int count = 4;                                                                                       \
        static __device__ __attribute__((always_inline)) float of(u32 word, int i) { return static_cast<float>(from_narrow<TYPE>(word >> (8 * i) & MASK)); } \
    };
__PTX_ELEMENT(e4m3, 0xff)
__PTX_ELEMENT(e5m2, 0xff)
__PTX_ELEMENT(e2m3, 0x3f)
__PTX_ELEMENT(e3m2, 0x3f)
#undef __PTX_ELEMENT
// Of a byte's middle bits.
template <> struct element<e2m1> {
    static constexpr int count = 4;
    static __device__ __attribute__((always_inline)) float of(u32 word, int i) { return static_cast<float>(from_narrow<e2m1>(word >> (8 * i + 2) & 0xf)); }
};
// Bits, of which those count that are in both words, or in one.
struct bits_and {};
struct bits_xor {};
// What a lane has of K: a word, or a number of f64.
template <typename T> struct word_of { typedef u32 type; };
template <> struct word_of<double> { typedef double type; };
template <typename T> struct operands { static constexpr bool narrow = false; };
template <typename A, typename B> struct operands<both<A, B>> {
    static constexpr bool narrow = true;
    template <typename Acc> static __device__ __attribute__((always_inline)) Acc dot(u32 ra, u32 rb, Acc sum) {
        if constexpr (__is_same(A, signed char) && __is_same(B, signed char))
            return ::__dp4a(static_cast<int>(ra), static_cast<int>(rb), sum);
        for (int i = 0; i < element<A>::count; i++)
            sum += static_cast<Acc>(element<A>::of(ra, i)) * static_cast<Acc>(element<B>::of(rb, i));
        return sum;
    }
};
template <typename T, typename Acc, typename W> __PTX Acc dot(W ra, W rb, Acc sum) {
    if constexpr (__is_same(T, double))
        return __builtin_fma(ra, rb, sum);
    else if constexpr (__is_same(T, bits_and))
        return sum + __builtin_popcount(ra & rb);
    else if constexpr (__is_same(T, bits_xor))
        return sum + __builtin_popcount(ra ^ rb);
    else if constexpr (operands<T>::narrow)
        return operands<T>::dot(ra, rb, sum);
    else if constexpr (__is_same(T, float)) {
        return __builtin_fmaf(as<float>(ra & ~0x1fffu), as<float>(rb & ~0x1fffu), sum);
    } else {
        typedef T pair __attribute__((ext_vector_type(2)));
        const pair a = as<pair>(ra), b = as<pair>(rb);
        return __builtin_fmaf(static_cast<float>(a[1]), static_cast<float>(b[1]), __builtin_fmaf(static_cast<float>(a[0]), static_cast<float>(b[0]), sum));
    }
}
// The word of lane I of the lane's four.
template <unsigned I, typename W> __PTX W of_quad(W value) {
    __cuda_words<W> words(value);
    for (unsigned i = 0; i < __cuda_words<W>::count; i++)
        words.word[i] = __builtin_amdgcn_mov_dpp(words.word[i], I * 0x55, 0xf, 0xf, true);
    return words.value();
}
// Adds the products of the lane's row, which its four lanes have, and its two columns: of four lanes each, one of them after the other.
template <typename T, unsigned I = 0, typename W, typename Acc> __PTX void row_products(W a, W b, Acc &first, Acc &second) {
    const u32 column = __cuda_lane() % 4 * 8 + I;
    const W left = of_quad<I>(a);
    first = dot<T>(left, __cuda_from_lane(b, column), first);
    second = dot<T>(left, __cuda_from_lane(b, column + 4), second);
    if constexpr (I < 3)
        row_products<T, I + 1>(a, b, first, second);
}
// Eight rows, in 32 bits each: m8n8.
template <typename T, typename Acc, typename D, typename A, typename B, typename C> __PTX void mma_8_1(D &d0, D &d1, A a, B b, C c0, C c1) {
    typedef typename word_of<T>::type word;
    Acc first = as<Acc>(c0), second = as<Acc>(c1);
    row_products<T>(as<word>(a), as<word>(b), first, second);
    set(d0, first), set(d1, second);
}
// Sixteen rows. These are functions of their own: a kernel has hundreds of such instructions, and each is over a hundred of AMD's.
template <typename Acc> struct four { Acc of[4]; };
template <typename T, typename W, typename Acc>
static __device__ __attribute__((noinline)) four<Acc> product_1(W a0, W a1, W b, Acc c0, Acc c1, Acc c2, Acc c3) {
    row_products<T>(a0, b, c0, c1), row_products<T>(a1, b, c2, c3);
    return {{c0, c1, c2, c3}};
}
template <typename T, typename W, typename Acc>
static __device__ __attribute__((noinline)) four<Acc> product_2(W a0, W a1, W a2, W a3, W b0, W b1, Acc c0, Acc c1, Acc c2, Acc c3) {
    row_products<T>(a0, b0, c0, c1), row_products<T>(a1, b0, c2, c3);
    row_products<T>(a2, b1, c0, c1), row_products<T>(a3, b1, c2, c3);
    return {{c0, c1, c2, c3}};
}
template <typename D, typename Acc> __PTX void set_four(D &d0, D &d1, D &d2, D &d3, const four<Acc> &c) {
    set(d0, c.of[0]), set(d1, c.of[1]), set(d2, c.of[2]), set(d3, c.of[3]);
}
// One word of K per lane: two registers of A, one of B.
template <typename T, typename Acc, typename D, typename A, typename B, typename C>
__PTX void mma_16_1(D &d0, D &d1, D &d2, D &d3, A a0, A a1, B b, C c0, C c1, C c2, C c3) {
    typedef typename word_of<T>::type word;
    set_four(d0, d1, d2, d3, product_1<T>(as<word>(a0), as<word>(a1), as<word>(b), as<Acc>(c0), as<Acc>(c1), as<Acc>(c2), as<Acc>(c3)));
}
// Two words: four registers of A (rows, rows + 8, and again), two of B.
template <typename T, typename Acc, typename D, typename A, typename B, typename C>
__PTX void mma_16_2(D &d0, D &d1, D &d2, D &d3, A a0, A a1, A a2, A a3, B b0, B b1, C c0, C c1, C c2, C c3) {
    typedef typename word_of<T>::type word;
    set_four(d0, d1, d2, d3,
             product_2<T>(as<word>(a0), as<word>(a1), as<word>(a2), as<word>(a3), as<word>(b0), as<word>(b1), as<Acc>(c0), as<Acc>(c1), as<Acc>(c2), as<Acc>(c3)));
}
// Four words: eight registers of A, four of B.
template <typename T, typename Acc, typename D, typename A, typename B, typename C>
__PTX void mma_16_4(D &d0, D &d1, D &d2, D &d3, A a0, A a1, A a2, A a3, A a4, A a5, A a6, A a7, B b0, B b1, B b2, B b3, C c0, C c1, C c2, C c3) {
    Acc c[4];
    mma_16_2<T, Acc>(c[0], c[1], c[2], c[3], a0, a1, a2, a3, b0, b1, c0, c1, c2, c3);
    mma_16_2<T, Acc>(d0, d1, d2, d3, a4, a5, a6, a7, b2, b3, c[0], c[1], c[2], c[3]);
}
// Sums that are clamped. The products of one instruction fit by themselves.
__PTX int clamped_sum(int products, int c) { return __builtin_elementwise_add_sat(products, c); }
template <typename T, typename Acc, typename D, typename A, typename B, typename C> __PTX void mma_8_1_saturated(D &d0, D &d1, A a, B b, C c0, C c1) {
    int d[2];
    mma_8_1<T, Acc>(d[0], d[1], a, b, 0, 0);
    set(d0, clamped_sum(d[0], as<int>(c0))), set(d1, clamped_sum(d[1], as<int>(c1)));
}
template <typename T, typename Acc, typename D, typename A, typename B, typename C>
__PTX void mma_16_1_saturated(D &d0, D &d1, D &d2, D &d3, A a0, A a1, B b, C c0, C c1, C c2, C c3) {
    int d[4];
    mma_16_1<T, Acc>(d[0], d[1], d[2], d[3], a0, a1, b, 0, 0, 0, 0);
    set(d0, clamped_sum(d[0], as<int>(c0))), set(d1, clamped_sum(d[1], as<int>(c1)));
    set(d2, clamped_sum(d[2], as<int>(c2))), set(d3, clamped_sum(d[3], as<int>(c3)));
}
template <typename T, typename Acc, typename D, typename A, typename B, typename C>
__PTX void mma_16_2_saturated(D &d0, D &d1, D &d2, D &d3, A a0, A a1, A a2, A a3, B b0, B b1, C c0, C c1, C c2, C c3) {
    int d[4];
    mma_16_2<T, Acc>(d[0], d[1], d[2], d[3], a0, a1, a2, a3, b0, b1, 0, 0, 0, 0);
    set(d0, clamped_sum(d[0], as<int>(c0))), set(d1, clamped_sum(d[1], as<int>(c1)));
    set(d2, clamped_sum(d[2], as<int>(c2))), set(d3, clamped_sum(d[3], as<int>(c3)));
}
// With f16 results: two in a register.
template <typename T, typename Acc, typename D, typename A, typename B, typename C>
__PTX void mma_16_1_f16(D &d0, D &d1, A a0, A a1, B b, C c0, C c1) {
    const f16x2 x = as<f16x2>(c0), y = as<f16x2>(c1);
    float d[4];
    mma_16_1<T, Acc>(d[0], d[1], d[2], d[3], a0, a1, b, float(x[0]), float(x[1]), float(y[0]), float(y[1]));
    set(d0, f16x2{f16(d[0]), f16(d[1])}), set(d1, f16x2{f16(d[2]), f16(d[3])});
}
template <typename T, typename Acc, typename D, typename A, typename B, typename C>
__PTX void mma_16_2_f16(D &d0, D &d1, A a0, A a1, A a2, A a3, B b0, B b1, C c0, C c1) {
    const f16x2 x = as<f16x2>(c0), y = as<f16x2>(c1);
    float d[4];
    mma_16_2<T, Acc>(d[0], d[1], d[2], d[3], a0, a1, a2, a3, b0, b1, float(x[0]), float(x[1]), float(y[0]), float(y[1]));
    set(d0, f16x2{f16(d[0]), f16(d[1])}), set(d1, f16x2{f16(d[2]), f16(d[3])});
}
// Four products of 8 x 4 and 4 x 8 halves, each by four lanes and those 16 further, which have the lower and the right half. A lane has
// four halves of a row or of a column of A and of B.
__PTX float quad_half(const u32 (&words)[2], u32 lane, u32 i) {
    const u32 low = __cuda_from_lane(words[0], lane), high = __cuda_from_lane(words[1], lane);
    return static_cast<float>(as<f16>(static_cast<unsigned short>((i < 2 ? low : high) >> (i % 2 * 16))));
}
template <bool ARows, bool BRows> __PTX float quad_product(const u32 (&a)[2], const u32 (&b)[2], u32 row, u32 column, float sum) {
    const u32 upper = (__cuda_lane() & 12) + row / 4 * 16, left = (__cuda_lane() & 12) + column / 4 * 16;
    for (u32 k = 0; k < 4; k++) {
        const float x = ARows ? quad_half(a, upper + row % 4, k) : quad_half(a, upper + k, row % 4);
        const float y = BRows ? quad_half(b, left + k, column % 4) : quad_half(b, left + column % 4, k);
        sum = __builtin_fmaf(x, y, sum);
    }
    return sum;
}
// A lane has a row of D in halves.
template <bool ARows, bool BRows, typename D, typename A, typename B, typename C>
__PTX void mma_quads_f16(D &d0, D &d1, D &d2, D &d3, A a0, A a1, B b0, B b1, C c0, C c1, C c2, C c3) {
    const u32 a[2] = {as<u32>(a0), as<u32>(a1)}, b[2] = {as<u32>(b0), as<u32>(b1)};
    f16x2 c[4] = {as<f16x2>(c0), as<f16x2>(c1), as<f16x2>(c2), as<f16x2>(c3)};
    for (u32 i = 0; i < 8; i++)
        c[i / 2][i % 2] = f16(quad_product<ARows, BRows>(a, b, __cuda_lane() % 4 + __cuda_lane() / 16 * 4, i, float(c[i / 2][i % 2])));
    set(d0, c[0]), set(d1, c[1]), set(d2, c[2]), set(d3, c[3]);
}
// In f32, it has two columns of two rows in each half of D.
template <bool ARows, bool BRows, typename D, typename A, typename B, typename C>
__PTX void mma_quads_f32(D &d0, D &d1, D &d2, D &d3, D &d4, D &d5, D &d6, D &d7, A a0, A a1, B b0, B b1, C c0, C c1, C c2, C c3, C c4, C c5, C c6, C c7) {
    const u32 a[2] = {as<u32>(a0), as<u32>(a1)}, b[2] = {as<u32>(b0), as<u32>(b1)}, lane = __cuda_lane();
    float c[8] = {as<float>(c0), as<float>(c1), as<float>(c2), as<float>(c3), as<float>(c4), as<float>(c5), as<float>(c6), as<float>(c7)};
    for (u32 i = 0; i < 8; i++)
        c[i] = quad_product<ARows, BRows>(a, b, lane % 2 + i / 2 % 2 * 2 + lane / 16 * 4, i / 4 * 4 + lane / 2 % 2 * 2 + i % 2, c[i]);
    set(d0, c[0]), set(d1, c[1]), set(d2, c[2]), set(d3, c[3]), set(d4, c[4]), set(d5, c[5]), set(d6, c[6]), set(d7, c[7]);
}
#undef __PTX
} // namespace __cuda_ptx
#include "ferrocm_letters_end.h"
