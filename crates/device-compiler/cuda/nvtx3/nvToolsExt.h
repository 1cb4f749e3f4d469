// NVTX's <nvtx3/nvToolsExt.h> for AMD targets: marks for a profiler, which do nothing.
#pragma once
#include "../ferrocm_letters_begin.h"
#include <stddef.h>
#include <stdint.h>

#define NVTX_VERSION 3
#define NVTX_INLINE static inline __attribute__((unused))
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st *nvtxStringHandle_t;
typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;
typedef enum nvtxMessageType_t {
    NVTX_MESSAGE_UNKNOWN = 0,
    NVTX_MESSAGE_TYPE_ASCII = 1,
    NVTX_MESSAGE_TYPE_UNICODE = 2,
    NVTX_MESSAGE_TYPE_REGISTERED = 3
} nvtxMessageType_t;
typedef enum nvtxPayloadType_t {
    NVTX_PAYLOAD_UNKNOWN = 0,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64 = 2,
    NVTX_PAYLOAD_TYPE_DOUBLE = 3,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
    NVTX_PAYLOAD_TYPE_INT32 = 5,
    NVTX_PAYLOAD_TYPE_FLOAT = 6
} nvtxPayloadType_t;
typedef union nvtxMessageValue_t {
    const char *ascii;
    const wchar_t *unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef struct nvtxEventAttributes_t {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType;
    int32_t reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_t;

NVTX_INLINE int nvtxRangePushA(const char *message) { (void)message; return 0; }
NVTX_INLINE int nvtxRangePushW(const wchar_t *message) { (void)message; return 0; }
NVTX_INLINE int nvtxRangePushEx(const nvtxEventAttributes_t *attributes) { (void)attributes; return 0; }
NVTX_INLINE int nvtxRangePop(void) { return 0; }
NVTX_INLINE nvtxRangeId_t nvtxRangeStartA(const char *message) { (void)message; return 0; }
NVTX_INLINE nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *attributes) { (void)attributes; return 0; }
NVTX_INLINE void nvtxRangeEnd(nvtxRangeId_t id) { (void)id; }
NVTX_INLINE void nvtxMarkA(const char *message) { (void)message; }
NVTX_INLINE void nvtxMarkEx(const nvtxEventAttributes_t *attributes) { (void)attributes; }
NVTX_INLINE void nvtxNameOsThreadA(uint32_t thread, const char *name) { (void)thread; (void)name; }
NVTX_INLINE void nvtxNameCategoryA(uint32_t category, const char *name) { (void)category; (void)name; }
NVTX_INLINE nvtxDomainHandle_t nvtxDomainCreateA(const char *name) { (void)name; return 0; }
NVTX_INLINE void nvtxDomainDestroy(nvtxDomainHandle_t domain) { (void)domain; }
NVTX_INLINE nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *string) { (void)domain; (void)string; return 0; }
NVTX_INLINE int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes) { (void)domain; (void)attributes; return 0; }
NVTX_INLINE int nvtxDomainRangePop(nvtxDomainHandle_t domain) { (void)domain; return 0; }
NVTX_INLINE void nvtxDomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes) { (void)domain; (void)attributes; }
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
#include "../ferrocm_letters_end.h"
