// Thrust's <thrust/host_vector.h> for AMD targets: std's vector.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/host_vector.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/host_vector.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
template <typename T> class device_vector;
template <typename T, typename Allocator = std::allocator<T>> class host_vector : public std::vector<T, Allocator> {
  public:
    using std::vector<T, Allocator>::vector;
    host_vector() = default;
    host_vector(const std::vector<T> &other) : std::vector<T, Allocator>(other.begin(), other.end()) {}
    template <typename U> host_vector(const device_vector<U> &other) { take(other); }
    template <typename U> host_vector &operator=(const device_vector<U> &other) {
        take(other);
        return *this;
    }

  private:
    template <typename U> void take(const device_vector<U> &other) {
        std::vector<U> items(other.size());
        if (!items.empty())
            __ferrocm::check((hipMemcpy)(items.data(), other.data().get(), items.size() * sizeof(U), hipMemcpyDeviceToHost));
        this->assign(items.begin(), items.end());
    }
};
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
