// Functions that jump into a shared library, which is looked for when the program starts.
#include "find.c"

extern void *ferrocm_@PREFIX@_slots[] __attribute__((visibility("hidden")));
extern const char ferrocm_@PREFIX@_names[] __attribute__((visibility("hidden")));
static const char *const places[] = {@PLACES@ ""};
// The HIP library, on which the other one works; none for that one itself.
static const char *const hip_places[] = {@HIP_PLACES@ ""};

__attribute__((constructor(@ORDER@))) static void enter(void) {
    if (*hip_places[0]) (void)open_library("@HIP@", "FERROCM_HIP_LIBRARY", hip_places);
    void *library = open_library("@SONAME@", @VARIABLE@, places);
    if (!library) {
        tell("cannot load @SONAME@\n");
        return;
    }
    const char *name = ferrocm_@PREFIX@_names;
    size found = 0;
    for (size i = 0; *name; i++, name += strlen(name) + 1) {
        void *address = dlsym(library, name);
        if (address) ferrocm_@PREFIX@_slots[i] = address, found++;
    }
    if (!found) tell("the @SONAME@ that was found has no functions for lib@PREFIX@\n");
}
