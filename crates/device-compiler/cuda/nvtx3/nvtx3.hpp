// NVTX's <nvtx3/nvtx3.hpp>, version 1 of its interface in C++, for AMD targets: ranges of scopes and functions, marks, domains.
#pragma once
#include "../ferrocm_letters_begin.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include "nvToolsExt.h"

#define NVTX3_CPP_VERSION_MAJOR 1
#define NVTX3_CPP_VERSION_MINOR 0
#ifdef NVTX3_CPP_REQUIRE_EXPLICIT_VERSION
#define NVTX3_INLINE_IF_REQUESTED
#else
#define NVTX3_INLINE_IF_REQUESTED inline
#endif

namespace nvtx3 {
NVTX3_INLINE_IF_REQUESTED namespace v1 {

namespace detail {
template <typename Text>
constexpr bool is_c_string = std::is_convertible<Text, const char *>::value || std::is_convertible<Text, const wchar_t *>::value;
template <typename Type, typename = void>
constexpr bool has_name = false;
template <typename Type>
constexpr bool has_name<Type, decltype(void(Type::name))> = is_c_string<decltype(Type::name)>;
template <typename Type, typename = void>
constexpr bool has_id = false;
template <typename Type>
constexpr bool has_id<Type, decltype(void(Type::id))> = std::is_same<typename std::decay<decltype(Type::id)>::type, uint32_t>::value;
template <typename Type, typename = void>
constexpr bool has_message = false;
template <typename Type>
constexpr bool has_message<Type, decltype(void(Type::message))> = is_c_string<decltype(Type::message)>;
}  // namespace detail

/// A domain, identified by a type with a member `name`.
class domain {
public:
    struct global {};

    domain(const domain &) = delete;
    domain &operator=(const domain &) = delete;

    template <typename D = global, typename std::enable_if<!std::is_same<D, global>::value, int>::type = 0>
    static const domain &get() noexcept {
        static_assert(detail::has_name<D>, "a domain's type must have a static constexpr member `name`, a C string");
        static const domain made(D::name);
        return made;
    }
    template <typename D = global, typename std::enable_if<std::is_same<D, global>::value, int>::type = 0>
    static const domain &get() noexcept {
        static const domain made;
        return made;
    }
    operator nvtxDomainHandle_t() const noexcept { return handle; }

private:
    domain() noexcept = default;
    explicit domain(const char *name) noexcept : handle(nvtxDomainCreateA(name)) {}
    explicit domain(const wchar_t *name) noexcept : handle(nvtxDomainCreateW(name)) {}
    ~domain() = default;

    const nvtxDomainHandle_t handle{};
};

struct rgb {
    using component_type = uint8_t;
    constexpr rgb(component_type red_, component_type green_, component_type blue_) noexcept : red(red_), green(green_), blue(blue_) {}
    component_type red{}, green{}, blue{};
};
struct argb final : rgb {
    constexpr argb(component_type alpha_, component_type red_, component_type green_, component_type blue_) noexcept
        : rgb(red_, green_, blue_), alpha(alpha_) {}
    component_type alpha{};
};

class color {
public:
    using value_type = uint32_t;
    constexpr explicit color(value_type code) noexcept : value(code) {}
    constexpr color(argb c) noexcept : color(uint32_t{c.alpha} << 24 | uint32_t{c.red} << 16 | uint32_t{c.green} << 8 | c.blue) {}
    constexpr color(rgb c) noexcept : color(argb(0xff, c.red, c.green, c.blue)) {}
    constexpr value_type get_value() const noexcept { return value; }
    constexpr nvtxColorType_t get_type() const noexcept { return NVTX_COLOR_ARGB; }

private:
    value_type value;
};

class category {
public:
    using id_type = uint32_t;
    constexpr explicit category(id_type id) noexcept : number(id) {}
    constexpr id_type get_id() const noexcept { return number; }

private:
    id_type number;
};

/// A category with a name, identified by a type with members `name` and `id`.
template <typename D = domain::global>
class named_category_in final : public category {
public:
    template <typename C>
    static const named_category_in &get() noexcept {
        static_assert(detail::has_name<C>, "a category's type must have a static constexpr member `name`, a C string");
        static_assert(detail::has_id<C>, "a category's type must have a static constexpr member `id`, a uint32_t");
        static const named_category_in made(C::id, C::name);
        return made;
    }
    named_category_in(id_type id, const char *name) noexcept : category(id) { nvtxDomainNameCategoryA(domain::get<D>(), id, name); }
    named_category_in(id_type id, const wchar_t *name) noexcept : category(id) { nvtxDomainNameCategoryW(domain::get<D>(), id, name); }
};
using named_category = named_category_in<>;

/// A text that is passed once, identified by a type with a member `message`.
template <typename D = domain::global>
class registered_string_in {
public:
    template <typename M>
    static const registered_string_in &get() noexcept {
        static_assert(detail::has_message<M>, "a string's type must have a static constexpr member `message`, a C string");
        static const registered_string_in made(M::message);
        return made;
    }
    explicit registered_string_in(const char *text) noexcept : handle(nvtxDomainRegisterStringA(domain::get<D>(), text)) {}
    explicit registered_string_in(const std::string &text) noexcept : registered_string_in(text.c_str()) {}
    explicit registered_string_in(const wchar_t *text) noexcept : handle(nvtxDomainRegisterStringW(domain::get<D>(), text)) {}
    explicit registered_string_in(const std::wstring &text) noexcept : registered_string_in(text.c_str()) {}
    nvtxStringHandle_t get_handle() const noexcept { return handle; }

private:
    nvtxStringHandle_t handle{};
};
using registered_string = registered_string_in<>;

class message {
public:
    using value_type = nvtxMessageValue_t;
    constexpr message(const char *text) noexcept : type(NVTX_MESSAGE_TYPE_ASCII) { value.ascii = text; }
    message(const std::string &text) noexcept : message(text.c_str()) {}
    message(std::string &&) = delete;
    constexpr message(const wchar_t *text) noexcept : type(NVTX_MESSAGE_TYPE_UNICODE) { value.unicode = text; }
    message(const std::wstring &text) noexcept : message(text.c_str()) {}
    message(std::wstring &&) = delete;
    template <typename D>
    message(const registered_string_in<D> &text) noexcept : message(text.get_handle()) {}
    constexpr message(nvtxStringHandle_t handle) noexcept : type(NVTX_MESSAGE_TYPE_REGISTERED) { value.registered = handle; }
    constexpr message(const nvtxMessageType_t &type_, const nvtxMessageValue_t &value_) noexcept : type(type_), value(value_) {}
    constexpr value_type get_value() const noexcept { return value; }
    constexpr nvtxMessageType_t get_type() const noexcept { return type; }

private:
    nvtxMessageType_t type;
    value_type value{};
};

class payload {
public:
    using value_type = typename nvtxEventAttributes_v2::payload_t;
    constexpr explicit payload(int64_t number) noexcept : type(NVTX_PAYLOAD_TYPE_INT64) { value.llValue = number; }
    constexpr explicit payload(int32_t number) noexcept : type(NVTX_PAYLOAD_TYPE_INT32) { value.iValue = number; }
    constexpr explicit payload(uint64_t number) noexcept : type(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64) { value.ullValue = number; }
    constexpr explicit payload(uint32_t number) noexcept : type(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32) { value.uiValue = number; }
    constexpr explicit payload(float number) noexcept : type(NVTX_PAYLOAD_TYPE_FLOAT) { value.fValue = number; }
    constexpr explicit payload(double number) noexcept : type(NVTX_PAYLOAD_TYPE_DOUBLE) { value.dValue = number; }
    constexpr payload(const nvtxPayloadType_t &type_, const value_type &value_) noexcept : type(type_), value(value_) {}
    constexpr value_type get_value() const noexcept { return value; }
    constexpr nvtxPayloadType_t get_type() const noexcept { return type; }

private:
    nvtxPayloadType_t type;
    value_type value{};
};

/// Any of a message, color, category and payload, in any order. Of two of a kind, the first counts.
class event_attributes {
public:
    using value_type = nvtxEventAttributes_t;
    constexpr event_attributes() noexcept : attributes{} {
        attributes.version = NVTX_VERSION;
        attributes.size = sizeof(nvtxEventAttributes_t);
    }
    template <typename... Others>
    constexpr explicit event_attributes(const category &c, const Others &...others) noexcept : event_attributes(others...) {
        attributes.category = c.get_id();
    }
    template <typename... Others>
    constexpr explicit event_attributes(const color &c, const Others &...others) noexcept : event_attributes(others...) {
        attributes.color = c.get_value();
        attributes.colorType = c.get_type();
    }
    template <typename... Others>
    constexpr explicit event_attributes(const payload &p, const Others &...others) noexcept : event_attributes(others...) {
        attributes.payload = p.get_value();
        attributes.payloadType = p.get_type();
    }
    template <typename... Others>
    constexpr explicit event_attributes(const message &m, const Others &...others) noexcept : event_attributes(others...) {
        attributes.message = m.get_value();
        attributes.messageType = m.get_type();
    }
    constexpr const value_type *get() const noexcept { return &attributes; }

private:
    value_type attributes;
};

/// A range of the calling thread from here to the end of the scope.
template <class D = domain::global>
class scoped_range_in {
public:
    explicit scoped_range_in(const event_attributes &attributes) noexcept { nvtxDomainRangePushEx(domain::get<D>(), attributes.get()); }
    template <typename... Attributes>
    explicit scoped_range_in(const Attributes &...attributes) noexcept : scoped_range_in(event_attributes(attributes...)) {}
    scoped_range_in() noexcept : scoped_range_in(event_attributes{}) {}
    ~scoped_range_in() noexcept { nvtxDomainRangePop(domain::get<D>()); }
    void *operator new(std::size_t) = delete;
    scoped_range_in(const scoped_range_in &) = delete;
    scoped_range_in &operator=(const scoped_range_in &) = delete;
};
using scoped_range = scoped_range_in<>;

namespace detail {
/// A range that begins if it is told to.
template <typename D = domain::global>
class optional_scoped_range_in {
public:
    optional_scoped_range_in() = default;
    void begin(const event_attributes &attributes) noexcept {
        if (!begun) nvtxDomainRangePushEx(domain::get<D>(), attributes.get());
        begun = true;
    }
    ~optional_scoped_range_in() noexcept {
        if (begun) nvtxDomainRangePop(domain::get<D>());
    }
    void *operator new(std::size_t) = delete;
    optional_scoped_range_in(const optional_scoped_range_in &) = delete;
    optional_scoped_range_in &operator=(const optional_scoped_range_in &) = delete;

private:
    bool begun = false;
};
}  // namespace detail

struct range_handle {
    using value_type = nvtxRangeId_t;
    constexpr explicit range_handle(value_type id_) noexcept : id(id_) {}
    constexpr range_handle() noexcept = default;
    constexpr range_handle(std::nullptr_t) noexcept {}
    constexpr explicit operator bool() const noexcept { return id != 0; }
    constexpr value_type get_value() const noexcept { return id; }

private:
    value_type id = 0;
};
constexpr bool operator==(range_handle a, range_handle b) noexcept { return a.get_value() == b.get_value(); }
constexpr bool operator!=(range_handle a, range_handle b) noexcept { return !(a == b); }

template <typename D = domain::global>
range_handle start_range_in(const event_attributes &attributes) noexcept {
    return range_handle(nvtxDomainRangeStartEx(domain::get<D>(), attributes.get()));
}
template <typename D = domain::global, typename... Attributes>
range_handle start_range_in(const Attributes &...attributes) noexcept {
    return start_range_in<D>(event_attributes(attributes...));
}
inline range_handle start_range(const event_attributes &attributes) noexcept { return start_range_in<domain::global>(attributes); }
template <typename... Attributes>
range_handle start_range(const Attributes &...attributes) noexcept {
    return start_range_in<domain::global>(attributes...);
}
template <typename D = domain::global>
void end_range_in(range_handle range) noexcept {
    nvtxDomainRangeEnd(domain::get<D>(), range.get_value());
}
inline void end_range(range_handle range) noexcept { end_range_in<domain::global>(range); }

/// A range that any thread may end, from here until the value is destroyed.
template <typename D = domain::global>
class unique_range_in {
public:
    explicit unique_range_in(const event_attributes &attributes) noexcept : handle(start_range_in<D>(attributes)) {}
    template <typename... Attributes>
    explicit unique_range_in(const Attributes &...attributes) noexcept : unique_range_in(event_attributes(attributes...)) {}
    unique_range_in() noexcept : unique_range_in(event_attributes{}) {}
    unique_range_in(unique_range_in &&) noexcept = default;
    unique_range_in &operator=(unique_range_in &&) noexcept = default;
    unique_range_in(const unique_range_in &) = delete;
    unique_range_in &operator=(const unique_range_in &) = delete;

private:
    struct end {
        using pointer = range_handle;
        void operator()(range_handle range) const noexcept { end_range_in<D>(range); }
    };
    std::unique_ptr<range_handle, end> handle;
};
using unique_range = unique_range_in<>;

template <typename D = domain::global>
void mark_in(const event_attributes &attributes) noexcept {
    nvtxDomainMarkEx(domain::get<D>(), attributes.get());
}
template <typename D = domain::global, typename... Attributes>
void mark_in(const Attributes &...attributes) noexcept {
    mark_in<D>(event_attributes(attributes...));
}
inline void mark(const event_attributes &attributes) noexcept { mark_in<domain::global>(attributes); }
template <typename... Attributes>
void mark(const Attributes &...attributes) noexcept {
    mark_in<domain::global>(attributes...);
}

}  // namespace v1
}  // namespace nvtx3

#ifdef NVTX_DISABLE
#define NVTX3_V1_FUNC_RANGE_IN(D)
#define NVTX3_V1_FUNC_RANGE_IF_IN(D, C)
#else
#define NVTX3_V1_FUNC_RANGE_IN(D) \
    static const ::nvtx3::v1::registered_string_in<D> nvtx3_func_name__{__func__}; \
    static const ::nvtx3::v1::event_attributes nvtx3_func_attr__{nvtx3_func_name__}; \
    const ::nvtx3::v1::scoped_range_in<D> nvtx3_range__{nvtx3_func_attr__};
#define NVTX3_V1_FUNC_RANGE_IF_IN(D, C) \
    ::nvtx3::v1::detail::optional_scoped_range_in<D> optional_nvtx3_range__; \
    if (C) { \
        static const ::nvtx3::v1::registered_string_in<D> nvtx3_func_name__{__func__}; \
        static const ::nvtx3::v1::event_attributes nvtx3_func_attr__{nvtx3_func_name__}; \
        optional_nvtx3_range__.begin(nvtx3_func_attr__); \
    }
#endif
#define NVTX3_V1_FUNC_RANGE() NVTX3_V1_FUNC_RANGE_IN(::nvtx3::v1::domain::global)
#define NVTX3_V1_FUNC_RANGE_IF(C) NVTX3_V1_FUNC_RANGE_IF_IN(::nvtx3::v1::domain::global, C)
#ifndef NVTX3_CPP_REQUIRE_EXPLICIT_VERSION
#define NVTX3_FUNC_RANGE NVTX3_V1_FUNC_RANGE
#define NVTX3_FUNC_RANGE_IF NVTX3_V1_FUNC_RANGE_IF
#define NVTX3_FUNC_RANGE_IN NVTX3_V1_FUNC_RANGE_IN
#define NVTX3_FUNC_RANGE_IF_IN NVTX3_V1_FUNC_RANGE_IF_IN
#endif
#include "../ferrocm_letters_end.h"
