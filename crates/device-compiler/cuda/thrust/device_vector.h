// Thrust's <thrust/device_vector.h> for AMD targets: a vector in device memory.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/device_vector.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/device_vector.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "copy.h"
#include "fill.h"
#include "host_vector.h"

namespace thrust {
template <typename T> class device_vector {
    T *at = nullptr;
    size_t count = 0, room = 0;

  public:
    typedef T value_type;
    typedef device_ptr<T> iterator;
    typedef device_ptr<const T> const_iterator;
    typedef device_ptr<T> pointer;
    typedef device_ptr<const T> const_pointer;
    typedef device_reference<T> reference;
    typedef device_reference<const T> const_reference;
    typedef size_t size_type;
    typedef ptrdiff_t difference_type;
    device_vector() = default;
    explicit device_vector(size_t n) { resize(n); }
    device_vector(size_t n, const T &value) { resize(n, value); }
    device_vector(const device_vector &other) { assign(other.begin(), other.end()); }
    device_vector(device_vector &&other) noexcept { swap(other); }
    template <typename Allocator> device_vector(const host_vector<T, Allocator> &other) { from_host(other.data(), other.size()); }
    device_vector(const std::vector<T> &other) { from_host(other.data(), other.size()); }
    device_vector(std::initializer_list<T> items) { from_host(items.begin(), items.size()); }
    template <typename I, typename = typename std::iterator_traits<I>::iterator_category> device_vector(I first, I last) { assign(first, last); }
    ~device_vector() { (void)(hipFree)(at); }
    device_vector &operator=(const device_vector &other) {
        if (this != &other)
            assign(other.begin(), other.end());
        return *this;
    }
    device_vector &operator=(device_vector &&other) noexcept {
        swap(other);
        return *this;
    }
    template <typename Allocator> device_vector &operator=(const host_vector<T, Allocator> &other) {
        from_host(other.data(), other.size());
        return *this;
    }
    device_vector &operator=(const std::vector<T> &other) {
        from_host(other.data(), other.size());
        return *this;
    }
    template <typename I> void assign(I first, I last) {
        grow(static_cast<size_t>(last - first), false);
        thrust::copy(first, last, begin());
    }
    void assign(size_t n, const T &value) {
        clear();
        resize(n, value);
    }
    void resize(size_t n, const T &value = T()) {
        const size_t old = count;
        grow(n, true);
        if (n > old)
            thrust::fill(begin() + static_cast<ptrdiff_t>(old), end(), value);
    }
    void reserve(size_t n) {
        const size_t old = count;
        if (n > room)
            grow(n, true);
        count = old;
    }
    void push_back(const T &value) {
        if (count == room)
            reserve(room ? 2 * room : 16);
        count++;
        (*this)[count - 1] = value;
    }
    void pop_back() { count--; }
    void clear() { count = 0; }
    void shrink_to_fit() {}
    void swap(device_vector &other) noexcept {
        std::swap(at, other.at);
        std::swap(count, other.count);
        std::swap(room, other.room);
    }
    size_t size() const { return count; }
    size_t capacity() const { return room; }
    bool empty() const { return count == 0; }
    device_ptr<T> data() { return device_ptr<T>(at); }
    device_ptr<const T> data() const { return device_ptr<const T>(at); }
    iterator begin() { return data(); }
    iterator end() { return data() + static_cast<ptrdiff_t>(count); }
    const_iterator begin() const { return data(); }
    const_iterator end() const { return data() + static_cast<ptrdiff_t>(count); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    reference operator[](size_t i) { return reference(at + i); }
    const_reference operator[](size_t i) const { return const_reference(at + i); }
    reference front() { return (*this)[0]; }
    reference back() { return (*this)[count - 1]; }

  private:
    // Resizes to n items, and keeps the existing ones if requested.
    void grow(size_t n, bool keep) {
        if (n > room) {
            T *other = device_malloc<T>(n).get();
            if (keep && count)
                __ferrocm::check((hipMemcpy)(other, at, count * sizeof(T), hipMemcpyDeviceToDevice));
            (void)(hipFree)(at);
            at = other;
            room = n;
        }
        count = n;
    }
    void from_host(const T *items, size_t n) {
        grow(n, false);
        if (n)
            __ferrocm::check((hipMemcpy)(at, items, n * sizeof(T), hipMemcpyHostToDevice));
    }
};
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
