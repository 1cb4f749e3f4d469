// Who receives NVTX's calls. The first call looks for, in this order: the library that NVTX_INJECTION64_PATH names and a function that
// is linked into the program (both are NVTX's interface for tools), the HIP library of this process if it writes a timeline or a log
// of ranges, and AMD's library of profiler marks (ROCTX). Without any, each call is two loads and two branches.
#pragma once
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

typedef void (*ferrocm_nvtx_function)(void);
typedef const void *(*NvtxGetExportTableFunc_t)(uint32_t table);
typedef int (*NvtxInitializeInjectionNvtxFunc_t)(NvtxGetExportTableFunc_t tables);

// The functions that receive calls, by NVTX's numbers of modules and functions. All sources of a program share one.
struct ferrocm_nvtx_state {
    int state;
    ferrocm_nvtx_function core[16], cuda[9], opencl[15], cudart[7], core2[16], sync[7];
};
enum { FERROCM_NVTX_NEW = 0, FERROCM_NVTX_STARTING = 1, FERROCM_NVTX_READY = 2 };
#ifndef __HIP_DEVICE_COMPILE__
__attribute__((weak, visibility("hidden"))) struct ferrocm_nvtx_state ferrocm_nvtx;
// A program that links a tool defines this.
__attribute__((weak)) NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
#else
extern struct ferrocm_nvtx_state ferrocm_nvtx;
extern NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
#endif

NVTX_INLINE_STATIC int ferrocm_nvtx_module(int module, ferrocm_nvtx_function ***places, unsigned int *length) {
    // Pointers to the places of each module; the first has no number.
    static ferrocm_nvtx_function *all[7][16];
    static const unsigned int lengths[7] = {0, 16, 9, 15, 7, 16, 7};
    ferrocm_nvtx_function *const first[7] = {0, ferrocm_nvtx.core, ferrocm_nvtx.cuda, ferrocm_nvtx.opencl,
                                             ferrocm_nvtx.cudart, ferrocm_nvtx.core2, ferrocm_nvtx.sync};
    if (module < 1 || module > 6) return 0;
    for (unsigned int number = 1; number < lengths[module]; ++number) all[module][number] = first[module] + number;
    if (places) *places = all[module];
    if (length) *length = lengths[module];
    return 1;
}

NVTX_INLINE_STATIC void ferrocm_nvtx_tool_version(uint32_t version) { (void)version; }

NVTX_INLINE_STATIC const void *ferrocm_nvtx_tables(uint32_t table) {
    static const struct {
        size_t size;
        int (*module)(int, ferrocm_nvtx_function ***, unsigned int *);
    } callbacks = {sizeof callbacks, ferrocm_nvtx_module};
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*tool_version)(uint32_t);
    } version = {sizeof version, NVTX_VERSION, 0, ferrocm_nvtx_tool_version};
    return table == 1 ? (const void *)&callbacks : table == 3 ? (const void *)&version : (const void *)0;
}

// ROCTX has texts only, and one domain. A registered string is its text.
struct ferrocm_nvtx_roctx {
    void (*mark)(const char *);
    int (*push)(const char *);
    int (*pop)(void);
    uint64_t (*start)(const char *);
    void (*stop)(uint64_t);
};
#ifndef __HIP_DEVICE_COMPILE__
__attribute__((weak, visibility("hidden"))) struct ferrocm_nvtx_roctx ferrocm_nvtx_roctx;
#else
extern struct ferrocm_nvtx_roctx ferrocm_nvtx_roctx;
#endif

// A text in UTF-8, for the caller to free.
NVTX_INLINE_STATIC char *ferrocm_nvtx_utf8(const wchar_t *text) {
    char *const made = (char *)malloc(4 * wcslen(text) + 1), *at = made;
    if (!made) return made;
    for (; *text; ++text) {
        const uint32_t c = (uint32_t)*text;
        const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const unsigned char first[4] = {0, 0xc0, 0xe0, 0xf0};
        *at++ = (char)(first[more] | (c >> (6 * more)));
        for (int i = more - 1; i >= 0; --i) *at++ = (char)(0x80 | ((c >> (6 * i)) & 0x3f));
    }
    *at = 0;
    return made;
}

// The text of attributes; `made` is for the caller to free.
NVTX_INLINE_STATIC const char *ferrocm_nvtx_text(const nvtxEventAttributes_t *attributes, char **made) {
    const char *text = 0;
    *made = 0;
    if (!attributes) return "";
    switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII: text = attributes->message.ascii; break;
    case NVTX_MESSAGE_TYPE_UNICODE:
        text = *made = attributes->message.unicode ? ferrocm_nvtx_utf8(attributes->message.unicode) : (char *)0;
        break;
    case NVTX_MESSAGE_TYPE_REGISTERED: text = (const char *)attributes->message.registered; break;
    }
    return text ? text : "";
}

NVTX_INLINE_STATIC void ferrocm_nvtx_mark(const nvtxEventAttributes_t *attributes) {
    char *made;
    ferrocm_nvtx_roctx.mark(ferrocm_nvtx_text(attributes, &made));
    free(made);
}
NVTX_INLINE_STATIC int ferrocm_nvtx_push(const nvtxEventAttributes_t *attributes) {
    char *made;
    const int depth = ferrocm_nvtx_roctx.push(ferrocm_nvtx_text(attributes, &made));
    free(made);
    return depth;
}
NVTX_INLINE_STATIC nvtxRangeId_t ferrocm_nvtx_range(const nvtxEventAttributes_t *attributes) {
    char *made;
    const nvtxRangeId_t id = ferrocm_nvtx_roctx.start(ferrocm_nvtx_text(attributes, &made));
    free(made);
    return id;
}
// A wide text as attributes.
NVTX_INLINE_STATIC nvtxEventAttributes_t ferrocm_nvtx_wide(const wchar_t *text) {
    nvtxEventAttributes_t attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    attributes.message.unicode = text;
    return attributes;
}
NVTX_INLINE_STATIC void ferrocm_nvtx_mark_w(const wchar_t *text) {
    const nvtxEventAttributes_t attributes = ferrocm_nvtx_wide(text);
    ferrocm_nvtx_mark(&attributes);
}
NVTX_INLINE_STATIC int ferrocm_nvtx_push_w(const wchar_t *text) {
    const nvtxEventAttributes_t attributes = ferrocm_nvtx_wide(text);
    return ferrocm_nvtx_push(&attributes);
}
NVTX_INLINE_STATIC nvtxRangeId_t ferrocm_nvtx_range_w(const wchar_t *text) {
    const nvtxEventAttributes_t attributes = ferrocm_nvtx_wide(text);
    return ferrocm_nvtx_range(&attributes);
}
NVTX_INLINE_STATIC void ferrocm_nvtx_domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes) {
    (void)domain;
    ferrocm_nvtx_mark(attributes);
}
NVTX_INLINE_STATIC int ferrocm_nvtx_domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes) {
    (void)domain;
    return ferrocm_nvtx_push(attributes);
}
NVTX_INLINE_STATIC int ferrocm_nvtx_domain_pop(nvtxDomainHandle_t domain) {
    (void)domain;
    return ferrocm_nvtx_roctx.pop();
}
NVTX_INLINE_STATIC nvtxRangeId_t ferrocm_nvtx_domain_range(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes) {
    (void)domain;
    return ferrocm_nvtx_range(attributes);
}
NVTX_INLINE_STATIC void ferrocm_nvtx_domain_stop(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
    (void)domain;
    ferrocm_nvtx_roctx.stop(id);
}
NVTX_INLINE_STATIC nvtxStringHandle_t ferrocm_nvtx_string(nvtxDomainHandle_t domain, const char *text) {
    (void)domain;
    return text ? (nvtxStringHandle_t)strdup(text) : (nvtxStringHandle_t)0;
}
NVTX_INLINE_STATIC nvtxStringHandle_t ferrocm_nvtx_string_w(nvtxDomainHandle_t domain, const wchar_t *text) {
    (void)domain;
    return text ? (nvtxStringHandle_t)ferrocm_nvtx_utf8(text) : (nvtxStringHandle_t)0;
}

// Lets AMD's library receive what it can, if it is there.
NVTX_INLINE_STATIC void ferrocm_nvtx_start_roctx(void) {
    const char *const names[] = {getenv("FERROCM_ROCTX_LIBRARY"), "librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so.0",
                                 "librocprofiler-sdk-roctx.so", "libroctx64.so.4", "libroctx64.so"};
    void *library = 0;
    // A library that is named is the only one.
    const size_t count = names[0] && *names[0] ? 1 : sizeof names / sizeof *names;
    for (size_t i = 0; i < count && !library; ++i) library = names[i] && *names[i] ? dlopen(names[i], RTLD_LAZY) : (void *)0;
    if (!library) return;
    struct ferrocm_nvtx_roctx found;
    *(void **)&found.mark = dlsym(library, "roctxMarkA");
    *(void **)&found.push = dlsym(library, "roctxRangePushA");
    *(void **)&found.pop = dlsym(library, "roctxRangePop");
    *(void **)&found.start = dlsym(library, "roctxRangeStartA");
    *(void **)&found.stop = dlsym(library, "roctxRangeStop");
    if (!found.mark || !found.push || !found.pop || !found.start || !found.stop) return;
    ferrocm_nvtx_roctx = found;
    struct ferrocm_nvtx_state *const to = &ferrocm_nvtx;
    to->core[1] = (ferrocm_nvtx_function)ferrocm_nvtx_mark;
    to->core[2] = (ferrocm_nvtx_function)found.mark;
    to->core[3] = (ferrocm_nvtx_function)ferrocm_nvtx_mark_w;
    to->core[4] = (ferrocm_nvtx_function)ferrocm_nvtx_range;
    to->core[5] = (ferrocm_nvtx_function)found.start;
    to->core[6] = (ferrocm_nvtx_function)ferrocm_nvtx_range_w;
    to->core[7] = (ferrocm_nvtx_function)found.stop;
    to->core[8] = (ferrocm_nvtx_function)ferrocm_nvtx_push;
    to->core[9] = (ferrocm_nvtx_function)found.push;
    to->core[10] = (ferrocm_nvtx_function)ferrocm_nvtx_push_w;
    to->core[11] = (ferrocm_nvtx_function)found.pop;
    to->core2[1] = (ferrocm_nvtx_function)ferrocm_nvtx_domain_mark;
    to->core2[2] = (ferrocm_nvtx_function)ferrocm_nvtx_domain_range;
    to->core2[3] = (ferrocm_nvtx_function)ferrocm_nvtx_domain_stop;
    to->core2[4] = (ferrocm_nvtx_function)ferrocm_nvtx_domain_push;
    to->core2[5] = (ferrocm_nvtx_function)ferrocm_nvtx_domain_pop;
    to->core2[10] = (ferrocm_nvtx_function)ferrocm_nvtx_string;
    to->core2[11] = (ferrocm_nvtx_function)ferrocm_nvtx_string_w;
}

// A tool's function that takes over, and whether it has.
NVTX_INLINE_STATIC int ferrocm_nvtx_inject(void *library) {
    NvtxInitializeInjectionNvtxFunc_t start;
    *(void **)&start = library ? dlsym(library, "InitializeInjectionNvtx2") : (void *)0;
    return start && start(ferrocm_nvtx_tables);
}

NVTX_INLINE_STATIC void ferrocm_nvtx_begin(void) {
    int expected = FERROCM_NVTX_NEW;
    if (__atomic_compare_exchange_n(&ferrocm_nvtx.state, &expected, FERROCM_NVTX_STARTING, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        const char *const path = getenv("NVTX_INJECTION64_PATH");
        // A tool that is named or linked is the only one, as with NVIDIA's headers.
        if (path) {
            ferrocm_nvtx_inject(dlopen(path, RTLD_LAZY));
        } else if (InitializeInjectionNvtx2_fnptr) {
            InitializeInjectionNvtx2_fnptr(ferrocm_nvtx_tables);
        } else if (!ferrocm_nvtx_inject(dlopen("libamdhip64.so.7", RTLD_LAZY | RTLD_NOLOAD))) {
            ferrocm_nvtx_start_roctx();
        }
        __atomic_store_n(&ferrocm_nvtx.state, FERROCM_NVTX_READY, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&ferrocm_nvtx.state, __ATOMIC_ACQUIRE) != FERROCM_NVTX_READY) sched_yield();
    }
}

// The function in a place, or null.
NVTX_INLINE_STATIC ferrocm_nvtx_function ferrocm_nvtx_find(const ferrocm_nvtx_function *place) {
#ifdef NVTX_DISABLE
    (void)place;
    return 0;
#else
    if (__builtin_expect(__atomic_load_n(&ferrocm_nvtx.state, __ATOMIC_ACQUIRE) != FERROCM_NVTX_READY, 0)) ferrocm_nvtx_begin();
    return *place;
#endif
}
