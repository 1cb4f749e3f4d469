// Memory for inline PTX: vectors, loads, stores, atomic operations, fences. Included by ferrocm_ptx.h, whose types and registers it uses.
#pragma once
#include "ferrocm_letters_begin.h"
namespace __cuda_ptx {
#define __PTX static __device__ __attribute__((always_inline, unused)) inline
// Words from parts
template <typename D, typename A, typename B> __PTX void pack(D &d, A low, B high) {
    constexpr unsigned half = sizeof(D) / 2;
    set(d, static_cast<bits<sizeof(D)>>(static_cast<bits<sizeof(D)>>(as<bits<half>>(high)) << (8 * half) | as<bits<half>>(low)));
}
template <typename D, typename A, typename B, typename C, typename E> __PTX void pack(D &d, A a, B b, C c, E e) {
    u32 low, high;
    if constexpr (sizeof(D) == 8) {
        pack(low, a, b), pack(high, c, e);
        pack(d, low, high);
    } else {
        set(d, as<u32>(as<unsigned char>(a)) | as<u32>(as<unsigned char>(b)) << 8 | as<u32>(as<unsigned char>(c)) << 16 | as<u32>(as<unsigned char>(e)) << 24);
    }
}
template <typename L, typename H, typename A> __PTX void unpack(L &low, H &high, A a) {
    constexpr unsigned half = sizeof(A) / 2;
    set(low, static_cast<bits<half>>(as<bits<sizeof(A)>>(a)));
    set(high, static_cast<bits<half>>(as<bits<sizeof(A)>>(a) >> (8 * half)));
}
template <typename L, typename M, typename N, typename H, typename A> __PTX void unpack(L &a, M &b, N &c, H &e, A from) {
    constexpr unsigned part = sizeof(A) / 4;
    const u64 all = as<bits<sizeof(A)>>(from);
    set(a, static_cast<bits<part>>(all));
    set(b, static_cast<bits<part>>(all >> (8 * part)));
    set(c, static_cast<bits<part>>(all >> (16 * part)));
    set(e, static_cast<bits<part>>(all >> (24 * part)));
}

// Memory. A vector is one access.
template <typename T, unsigned N> struct alignas(sizeof(T) * N) vector { T x[N]; };
template <typename T, typename D> __PTX void load(const T *at, D &d) { set(d, *at); }
template <typename T, typename A, typename B> __PTX void load(const T *at, A &a, B &b) {
    const vector<T, 2> all = *reinterpret_cast<const vector<T, 2> *>(at);
    set(a, all.x[0]), set(b, all.x[1]);
}
template <typename T, typename A, typename B, typename C, typename D> __PTX void load(const T *at, A &a, B &b, C &c, D &d) {
    const vector<T, 4> all = *reinterpret_cast<const vector<T, 4> *>(at);
    set(a, all.x[0]), set(b, all.x[1]), set(c, all.x[2]), set(d, all.x[3]);
}
template <typename T, typename... D> __PTX void load(const T *at, D &...d) {
    static_assert(sizeof...(D) == 8);
    const vector<T, 4> parts[2] = {reinterpret_cast<const vector<T, 4> *>(at)[0], reinterpret_cast<const vector<T, 4> *>(at)[1]};
    u32 i = 0;
    (set(d, (i++, i <= 4 ? parts[0].x[i - 1] : parts[1].x[i - 5])), ...);
}
template <typename T, typename... A> __PTX void store_all(T *at, A... a) {
    const T all[8] = {as<T>(a)...};
    for (u32 i = 0; i < 2; i++)
        reinterpret_cast<vector<T, 4> *>(at)[i] = {{all[4 * i], all[4 * i + 1], all[4 * i + 2], all[4 * i + 3]}};
}
template <typename T, typename A> __PTX void store(T *at, A a) { *at = as<T>(a); }
template <typename T, typename A, typename B> __PTX void store(T *at, A a, B b) {
    *reinterpret_cast<vector<T, 2> *>(at) = {{as<T>(a), as<T>(b)}};
}
template <typename T, typename A, typename B, typename C, typename D> __PTX void store(T *at, A a, B b, C c, D d) {
    *reinterpret_cast<vector<T, 4> *>(at) = {{as<T>(a), as<T>(b), as<T>(c), as<T>(d)}};
}
template <typename T, typename... A> __PTX void store(T *at, A... a) {
    static_assert(sizeof...(A) == 8);
    store_all<T>(at, a...);
}
template <typename T, typename A, typename... D> __PTX void ld(A at, D &...d) { load<T>(generic<T>(at), d...); }
template <typename T, typename A, typename... D> __PTX void ld_shared(A at, D &...d) { load<T>(shared<T>(at), d...); }
template <typename T, typename A, typename... D> __PTX void st(A at, D... d) { store<T>(generic<T>(at), d...); }
template <typename T, typename A, typename... D> __PTX void st_shared(A at, D... d) { store<T>(shared<T>(at), d...); }
template <typename T, typename A, typename... D> __PTX void ld_volatile(A address, D &...d) {
    const volatile T *at = generic<T>(address);
    (set(d, *at++), ...);
}
template <typename T, typename A, typename... D> __PTX void ld_volatile_shared(A address, D &...d) {
    const volatile T *at = shared<T>(address);
    (set(d, *at++), ...);
}
template <typename T, typename A, typename... D> __PTX void st_volatile(A address, D... d) {
    volatile T *at = generic<T>(address);
    ((*at++ = as<T>(d)), ...);
}
template <typename T, typename A, typename... D> __PTX void st_volatile_shared(A address, D... d) {
    volatile T *at = shared<T>(address);
    ((*at++ = as<T>(d)), ...);
}

template <typename T, bool Shared, typename A> __PTX T *place(A at) {
    if constexpr (Shared)
        return shared<T>(at);
    else
        return generic<T>(at);
}
template <int Scope> __PTX void fence() {
    if constexpr (Scope == __HIP_MEMORY_SCOPE_WORKGROUP)
        __threadfence_block();
    else if constexpr (Scope == __HIP_MEMORY_SCOPE_AGENT)
        __threadfence();
    else
        __threadfence_system();
}
// Orders and scopes come from an instruction's name. The numbers of a vector are in no order among each other; one access of the
// cache's last level has all of them.
template <unsigned N> struct words_of { typedef u32 type __attribute__((ext_vector_type(N))); };
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename... D> __PTX void ld_ordered(A address, D &...d) {
    if constexpr (sizeof...(D) == 1)
        (set(d, as<T>(__hip_atomic_load((place<bits<sizeof(T)>, Shared>(address)), Order, Scope))), ...);
    else if constexpr (sizeof(T) * sizeof...(D) == 8 || sizeof(T) * sizeof...(D) == 16) {
        typedef typename words_of<sizeof(T) * sizeof...(D) / 4>::type all;
        const all words = *const_cast<const volatile all *>(place<all, Shared>(address));
        vector<T, sizeof...(D)> parts;
        __builtin_memcpy(&parts, &words, sizeof(words));
        u32 i = 0;
        (set(d, parts.x[i++]), ...);
        if constexpr (Order != __ATOMIC_RELAXED)
            fence<Scope>();
    } else {
        bits<sizeof(T)> *at = place<bits<sizeof(T)>, Shared>(address);
        (set(d, as<T>(__hip_atomic_load(at++, __ATOMIC_RELAXED, Scope))), ...);
        if constexpr (Order != __ATOMIC_RELAXED)
            fence<Scope>();
    }
}
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename... D> __PTX void st_ordered(A address, D... d) {
    if constexpr (sizeof...(D) == 1)
        (__hip_atomic_store((place<bits<sizeof(T)>, Shared>(address)), as<bits<sizeof(T)>>(d), Order, Scope), ...);
    else {
        if constexpr (Order != __ATOMIC_RELAXED)
            fence<Scope>();
        if constexpr (sizeof(T) * sizeof...(D) == 8 || sizeof(T) * sizeof...(D) == 16) {
            typedef typename words_of<sizeof(T) * sizeof...(D) / 4>::type all;
            const vector<T, sizeof...(D)> parts = {{as<T>(d)...}};
            all words;
            __builtin_memcpy(&words, &parts, sizeof(words));
            *const_cast<volatile all *>(place<all, Shared>(address)) = words;
        } else {
            bits<sizeof(T)> *at = place<bits<sizeof(T)>, Shared>(address);
            (__hip_atomic_store(at++, as<bits<sizeof(T)>>(d), __ATOMIC_RELAXED, Scope), ...);
        }
    }
}
#define __PTX_ATOMIC(NAME, BUILTIN)                                                                                           \
    template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B>                      \
    __PTX void atom_##NAME(A at, D &d, B b) {                                                                                 \
        set(d, BUILTIN((place<T, Shared>(at)), as<T>(b), Order, Scope));                                                      \
    }                                                                                                                         \
    template <int Order, int Scope, typename T, bool Shared = false, typename A, typename B> __PTX void red_##NAME(A at, B b) { \
        (void)BUILTIN((place<T, Shared>(at)), as<T>(b), Order, Scope);                                                        \
    }
__PTX_ATOMIC(add, __hip_atomic_fetch_add)
__PTX_ATOMIC(min, __hip_atomic_fetch_min)
__PTX_ATOMIC(max, __hip_atomic_fetch_max)
__PTX_ATOMIC(and, __hip_atomic_fetch_and)
__PTX_ATOMIC(or, __hip_atomic_fetch_or)
__PTX_ATOMIC(xor, __hip_atomic_fetch_xor)
__PTX_ATOMIC(exch, __hip_atomic_exchange)
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B, typename C>
__PTX void atom_cas(A at, D &d, B compare, C value) {
    T expected = as<T>(compare);
    constexpr int failed = Order == __ATOMIC_ACQUIRE || Order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
    __hip_atomic_compare_exchange_strong((place<T, Shared>(at)), &expected, as<T>(value), Order, failed, Scope);
    set(d, expected);
}
// A counter that wraps to 0 above its limit, and one that wraps to its limit below 0.
template <int Order, int Scope, typename T, bool Up, typename P, typename D> __PTX void count(P at, D &d, T limit) {
    T seen = *at, before;
    do {
        before = seen;
        const T next = Up ? (before >= limit ? T(0) : T(before + 1)) : (before == 0 || before > limit ? limit : T(before - 1));
        __hip_atomic_compare_exchange_strong(at, &seen, next, Order, __ATOMIC_RELAXED, Scope);
    } while (seen != before);
    set(d, before);
}
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B> __PTX void atom_inc(A at, D &d, B b) {
    count<Order, Scope, T, true>(place<T, Shared>(at), d, as<T>(b));
}
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B> __PTX void atom_dec(A at, D &d, B b) {
    count<Order, Scope, T, false>(place<T, Shared>(at), d, as<T>(b));
}
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename B> __PTX void red_inc(A at, B b) {
    sink none;
    atom_inc<Order, Scope, T, Shared>(at, none, b);
}
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename B> __PTX void red_dec(A at, B b) {
    sink none;
    atom_dec<Order, Scope, T, Shared>(at, none, b);
}
// Pairs of halves, in one word.
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B> __PTX void atom_add_pair(A address, D &d, B b) {
    u32 *at = place<u32, Shared>(address), seen = *at, before;
    do {
        before = seen;
        const T sum = as<T>(before) + as<T>(b);
        __hip_atomic_compare_exchange_strong(at, &seen, as<u32>(sum), Order, __ATOMIC_RELAXED, Scope);
    } while (seen != before);
    set(d, before);
}

template <int Order, int Scope, typename T, bool Shared = false, typename A, typename B> __PTX void red_add_pair(A at, B b) {
    sink none;
    atom_add_pair<Order, Scope, T, Shared>(at, none, b);
}

// One half, of the word that has it.
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename D, typename B> __PTX void atom_add_half(A address, D &d, B b) {
    const u32 shift = (as<u32>(address) & 2) * 8;
    u32 *at = place<u32, Shared>(as<u64>(address) & ~2ull), seen = *at, before;
    do {
        before = seen;
        const T sum = as<T>(static_cast<unsigned short>(before >> shift)) + as<T>(b);
        const u32 next = (before & ~(0xffffu << shift)) | static_cast<u32>(as<unsigned short>(sum)) << shift;
        __hip_atomic_compare_exchange_strong(at, &seen, next, Order, __ATOMIC_RELAXED, Scope);
    } while (seen != before);
    set(d, static_cast<unsigned short>(before >> shift));
}
template <int Order, int Scope, typename T, bool Shared = false, typename A, typename B> __PTX void red_add_half(A at, B b) {
    sink none;
    atom_add_half<Order, Scope, T, Shared>(at, none, b);
}
// Each element of a vector by itself.
template <int Order, int Scope, typename T, typename D, typename B> __PTX void add_element(u64 at, D &d, B b) {
    if constexpr (parts<T>::count > 1)
        atom_add_pair<Order, Scope, T>(at, d, b);
    else if constexpr (sizeof(T) == 2)
        atom_add_half<Order, Scope, T>(at, d, b);
    else
        atom_add<Order, Scope, T>(at, d, b);
}
template <int Order, int Scope, typename T, typename A, typename... B> __PTX void red_add_vector(A address, B... values) {
    u64 at = as<u64>(address);
    sink none;
    ((add_element<Order, Scope, T>(at, none, values), at += sizeof(T)), ...);
}
template <int Order, int Scope, typename T, typename A, typename D, typename B> __PTX void atom_add_vector(A at, D &a, D &b, B x, B y) {
    add_element<Order, Scope, T>(as<u64>(at), a, x), add_element<Order, Scope, T>(as<u64>(at) + sizeof(T), b, y);
}
template <int Order, int Scope, typename T, typename A, typename D, typename B>
__PTX void atom_add_vector(A at, D &a, D &b, D &c, D &e, B x, B y, B z, B w) {
    atom_add_vector<Order, Scope, T>(at, a, b, x, y), atom_add_vector<Order, Scope, T>(as<u64>(at) + 2 * sizeof(T), c, e, z, w);
}
#undef __PTX_ATOMIC
#undef __PTX
} // namespace __cuda_ptx
#include "ferrocm_letters_end.h"
