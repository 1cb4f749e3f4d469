// Opens a library when a program needs it: where `variable` says, unless that is empty; among the loaded ones; in LD_LIBRARY_PATH; at one of
// `places`, which ends with an empty one; and where the system has libraries.
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

static void tell(const char *text) {
    if (write(2, text, strlen(text)) < 0) return;
}

static void *open_library(const char *name, const char *variable, const char *const *places) {
    char path[4096];
    const size behind = strlen(name) + 1;
    const char *named = variable ? getenv(variable) : 0;
    void *found = named && *named ? dlopen(named, 2) : dlopen(name, 1 | 4);
    const char *why = !found && named && *named ? dlerror() : 0;
    if (found || why) {
        if (why) tell(why), tell("\n");
        return found;
    }
    for (const char *at = getenv("LD_LIBRARY_PATH"); at && *at;) {
        const char *end = strchr(at, ':');
        size length = end ? (size)(end - at) : strlen(at);
        if (length && length + 1 + behind <= sizeof path) {
            memcpy(path, at, length);
            path[length] = '/';
            memcpy(path + length + 1, name, behind);
            if (!access(path, 4) && (found = dlopen(path, 2))) return found;
        }
        at = end ? end + 1 : 0;
    }
    for (; **places; places++) {
        if (access(*places, 4)) continue;
        if ((found = dlopen(*places, 2))) return found;
        why = dlerror();
        tell(why ? why : *places);
        tell("\n");
    }
    return dlopen(name, 2);
}
