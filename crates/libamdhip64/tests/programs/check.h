// Ends the program with a message and exit code 1 if a condition does not hold.
#pragma once
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>

#define EXPECT(condition)                                                              \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

#define EXPECT_CODE(call, expected)                                                              \
    do {                                                                                         \
        hipError_t code_ = (call);                                                               \
        if (code_ != (expected)) {                                                               \
            fprintf(stderr, "%s:%d: %s: %s, not %s\n", __FILE__, __LINE__, #call,                \
                    hipGetErrorName(code_), hipGetErrorName(expected));                          \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

#define OK(call) EXPECT_CODE(call, hipSuccess)

// The error left by a launch of more work-items than a block can have, by the release of the library.
static inline hipError_t too_large() {
    int version = 0;
    OK(hipRuntimeGetVersion(&version));
    return version < 70000000 ? hipErrorInvalidValue : hipErrorInvalidConfiguration;
}
