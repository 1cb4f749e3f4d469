// NVTX's <nvtx3/nvToolsExt.h> for AMD targets: marks and ranges for a profiler. ferrocm_nvtx_start.h says who receives them.
#pragma once
#include "../ferrocm_letters_begin.h"
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_VERSION 3
#define NVTX_API
#define NVTX_INLINE_STATIC static __inline__ __attribute__((unused))
#define NVTX_DECLSPEC NVTX_INLINE_STATIC
#define NVTX_SUCCESS 0
#define NVTX_FAIL 1
#define NVTX_ERR_INIT_LOAD_PROPERTY 2
#define NVTX_ERR_INIT_ACCESS_LIBRARY 3
#define NVTX_ERR_INIT_LOAD_LIBRARY 4
#define NVTX_ERR_INIT_MISSING_LIBRARY_ENTRY_POINT 5
#define NVTX_ERR_INIT_FAILED_LIBRARY_ENTRY_POINT 6
#define NVTX_ERR_NO_INJECTION_LIBRARY_AVAILABLE 7
#define NVTX_NO_PUSH_POP_TRACKING ((int)-2)
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
#define NVTX_RESOURCE_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxResourceAttributes_v0))
#define NVTX_RESOURCE_CLASS_GENERIC 1
#define NVTX_RESOURCE_MAKE_TYPE(CLASS, INDEX) ((((uint32_t)(NVTX_RESOURCE_CLASS_##CLASS)) << 16) | ((uint32_t)(INDEX)))

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st nvtxDomainRegistration;
typedef nvtxDomainRegistration *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st nvtxStringRegistration;
typedef nvtxStringRegistration *nvtxStringHandle_t;
typedef struct nvtxResourceHandle *nvtxResourceHandle_t;
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
typedef struct nvtxEventAttributes_v2 {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType;
    int32_t reserved0;
    union payload_t {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_v2;
typedef struct nvtxEventAttributes_v2 nvtxEventAttributes_t;
typedef enum nvtxResourceGenericType_t {
    NVTX_RESOURCE_TYPE_UNKNOWN = 0,
    NVTX_RESOURCE_TYPE_GENERIC_POINTER = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 1),
    NVTX_RESOURCE_TYPE_GENERIC_HANDLE = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 2),
    NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 3),
    NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 4)
} nvtxResourceGenericType_t;
typedef struct nvtxResourceAttributes_v0 {
    uint16_t version;
    uint16_t size;
    int32_t identifierType;
    union identifier_t {
        const void *pValue;
        uint64_t ullValue;
    } identifier;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxResourceAttributes_v0;
typedef struct nvtxResourceAttributes_v0 nvtxResourceAttributes_t;

#include "ferrocm_nvtx_start.h"

// Functions by the number of their place: a result, what is returned if nobody receives the call, the table, the number, the name.
#define FERROCM_NVTX(result, otherwise, table, number, name, parameters, arguments) \
    NVTX_DECLSPEC result name parameters { \
        const ferrocm_nvtx_function found = ferrocm_nvtx_find(&ferrocm_nvtx.table[number]); \
        return found ? ((result(*) parameters)found)arguments : (otherwise); \
    }
#define FERROCM_NVTX_VOID(table, number, name, parameters, arguments) \
    NVTX_DECLSPEC void name parameters { \
        const ferrocm_nvtx_function found = ferrocm_nvtx_find(&ferrocm_nvtx.table[number]); \
        if (found) ((void(*) parameters)found)arguments; \
    }

FERROCM_NVTX_VOID(core, 1, nvtxMarkEx, (const nvtxEventAttributes_t *attributes), (attributes))
FERROCM_NVTX_VOID(core, 2, nvtxMarkA, (const char *message), (message))
FERROCM_NVTX_VOID(core, 3, nvtxMarkW, (const wchar_t *message), (message))
FERROCM_NVTX(nvtxRangeId_t, 0, core, 4, nvtxRangeStartEx, (const nvtxEventAttributes_t *attributes), (attributes))
FERROCM_NVTX(nvtxRangeId_t, 0, core, 5, nvtxRangeStartA, (const char *message), (message))
FERROCM_NVTX(nvtxRangeId_t, 0, core, 6, nvtxRangeStartW, (const wchar_t *message), (message))
FERROCM_NVTX_VOID(core, 7, nvtxRangeEnd, (nvtxRangeId_t id), (id))
FERROCM_NVTX(int, NVTX_NO_PUSH_POP_TRACKING, core, 8, nvtxRangePushEx, (const nvtxEventAttributes_t *attributes), (attributes))
FERROCM_NVTX(int, NVTX_NO_PUSH_POP_TRACKING, core, 9, nvtxRangePushA, (const char *message), (message))
FERROCM_NVTX(int, NVTX_NO_PUSH_POP_TRACKING, core, 10, nvtxRangePushW, (const wchar_t *message), (message))
FERROCM_NVTX(int, NVTX_NO_PUSH_POP_TRACKING, core, 11, nvtxRangePop, (void), ())
FERROCM_NVTX_VOID(core, 12, nvtxNameCategoryA, (uint32_t category, const char *name), (category, name))
FERROCM_NVTX_VOID(core, 13, nvtxNameCategoryW, (uint32_t category, const wchar_t *name), (category, name))
FERROCM_NVTX_VOID(core, 14, nvtxNameOsThreadA, (uint32_t thread, const char *name), (thread, name))
FERROCM_NVTX_VOID(core, 15, nvtxNameOsThreadW, (uint32_t thread, const wchar_t *name), (thread, name))

FERROCM_NVTX_VOID(core2, 1, nvtxDomainMarkEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes), (domain, attributes))
FERROCM_NVTX(nvtxRangeId_t, 0, core2, 2, nvtxDomainRangeStartEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes),
             (domain, attributes))
FERROCM_NVTX_VOID(core2, 3, nvtxDomainRangeEnd, (nvtxDomainHandle_t domain, nvtxRangeId_t id), (domain, id))
FERROCM_NVTX(int, NVTX_NO_PUSH_POP_TRACKING, core2, 4, nvtxDomainRangePushEx,
             (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes), (domain, attributes))
FERROCM_NVTX(int, NVTX_NO_PUSH_POP_TRACKING, core2, 5, nvtxDomainRangePop, (nvtxDomainHandle_t domain), (domain))
FERROCM_NVTX(nvtxResourceHandle_t, (nvtxResourceHandle_t)0, core2, 6, nvtxDomainResourceCreate,
             (nvtxDomainHandle_t domain, nvtxResourceAttributes_t *attributes), (domain, attributes))
FERROCM_NVTX_VOID(core2, 7, nvtxDomainResourceDestroy, (nvtxResourceHandle_t resource), (resource))
FERROCM_NVTX_VOID(core2, 8, nvtxDomainNameCategoryA, (nvtxDomainHandle_t domain, uint32_t category, const char *name),
                  (domain, category, name))
FERROCM_NVTX_VOID(core2, 9, nvtxDomainNameCategoryW, (nvtxDomainHandle_t domain, uint32_t category, const wchar_t *name),
                  (domain, category, name))
FERROCM_NVTX(nvtxStringHandle_t, (nvtxStringHandle_t)0, core2, 10, nvtxDomainRegisterStringA, (nvtxDomainHandle_t domain, const char *string),
             (domain, string))
FERROCM_NVTX(nvtxStringHandle_t, (nvtxStringHandle_t)0, core2, 11, nvtxDomainRegisterStringW,
             (nvtxDomainHandle_t domain, const wchar_t *string), (domain, string))
FERROCM_NVTX(nvtxDomainHandle_t, (nvtxDomainHandle_t)0, core2, 12, nvtxDomainCreateA, (const char *name), (name))
FERROCM_NVTX(nvtxDomainHandle_t, (nvtxDomainHandle_t)0, core2, 13, nvtxDomainCreateW, (const wchar_t *name), (name))
FERROCM_NVTX_VOID(core2, 14, nvtxDomainDestroy, (nvtxDomainHandle_t domain), (domain))
FERROCM_NVTX_VOID(core2, 15, nvtxInitialize, (const void *reserved), (reserved))

#ifdef __cplusplus
}
#endif

#ifdef UNICODE
#define nvtxMark nvtxMarkW
#define nvtxRangeStart nvtxRangeStartW
#define nvtxRangePush nvtxRangePushW
#define nvtxNameCategory nvtxNameCategoryW
#define nvtxNameOsThread nvtxNameOsThreadW
#define nvtxDomainCreate nvtxDomainCreateW
#define nvtxDomainRegisterString nvtxDomainRegisterStringW
#define nvtxDomainNameCategory nvtxDomainNameCategoryW
#else
#define nvtxMark nvtxMarkA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxRangePush nvtxRangePushA
#define nvtxNameCategory nvtxNameCategoryA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxDomainCreate nvtxDomainCreateA
#define nvtxDomainRegisterString nvtxDomainRegisterStringA
#define nvtxDomainNameCategory nvtxDomainNameCategoryA
#endif
#include "../ferrocm_letters_end.h"
