// The HIP library for programs that are linked with CUDA's static runtime: its functions, which jump into the
// shared library. That is looked for when the program starts: among the loaded ones, in LD_LIBRARY_PATH, then
// where it was when this was made.
#define _GNU_SOURCE
typedef unsigned long size;
void *dlopen(const char *, int);
void *dlsym(void *, const char *);
char *dlerror(void);
char *getenv(const char *);
int access(const char *, int);
long write(int, const void *, size);
size strlen(const char *);
char *strchr(const char *, int);
void *memcpy(void *, const void *, size);

extern void *ferrocm_slots[] __attribute__((visibility("hidden")));
extern const char ferrocm_names[] __attribute__((visibility("hidden")));

static void tell(const char *text) {
    if (write(2, text, strlen(text)) < 0) return;
}

static void *library(void) {
    char path[4096];
    void *found = dlopen("@SONAME@", 1 | 4);
    if (found) return found;
    for (const char *at = getenv("LD_LIBRARY_PATH"); at && *at;) {
        const char *end = strchr(at, ':');
        size length = end ? (size)(end - at) : strlen(at);
        if (length && length + sizeof "/@SONAME@" <= sizeof path) {
            memcpy(path, at, length);
            memcpy(path + length, "/@SONAME@", sizeof "/@SONAME@");
            if (!access(path, 4) && (found = dlopen(path, 2))) return found;
        }
        at = end ? end + 1 : 0;
    }
    found = dlopen("@PATH@", 2);
    if (found) return found;
    const char *why = dlerror();
    found = dlopen("@SONAME@", 2);
    if (!found) {
        tell("cannot load the HIP library: ");
        tell(why ? why : "@PATH@");
        tell("\n");
    }
    return found;
}

__attribute__((constructor(101))) static void enter(void) {
    void *hip = library();
    if (!hip) return;
    const char *name = ferrocm_names;
    for (size i = 0; *name; i++, name += strlen(name) + 1) {
        void *address = dlsym(hip, name);
        if (address) ferrocm_slots[i] = address;
    }
}
