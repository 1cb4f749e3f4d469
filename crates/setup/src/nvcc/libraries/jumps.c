// Functions that jump into a shared library, which is looked for when the program starts.
#include "find.c"

extern void *ferrocm_@PREFIX@_slots[] __attribute__((visibility("hidden")));
extern const char ferrocm_@PREFIX@_names[] __attribute__((visibility("hidden")));
static const char *const places[] = {@PLACES@ ""};

__attribute__((constructor(@ORDER@))) static void enter(void) {
    void *library = open_library("@SONAME@", @VARIABLE@, places);
    if (!library) {
        tell("cannot load @SONAME@\n");
        return;
    }
    const char *name = ferrocm_@PREFIX@_names;
    for (size i = 0; *name; i++, name += strlen(name) + 1) {
        void *address = dlsym(library, name);
        if (address) ferrocm_@PREFIX@_slots[i] = address;
    }
}
