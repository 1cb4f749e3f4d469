// Linked device code of several sources: registers it with the HIP library before main, and the kernels and
// variables of the object files that it has.
__asm__(".section .hip_fatbin,\"a\",%progbits\n"
        ".p2align 12\n"
        "ferrocm_linked_code:\n"
        ".incbin @BINARY@\n"
        ".previous\n");
// The sources in the code, which their object files refer to.
@SOURCES@
extern const char ferrocm_linked_code[] __attribute__((visibility("hidden")));

// What clang writes for each kernel and variable. Linkers put those of all object files together.
struct entry {
    unsigned long reserved;
    unsigned short version, kind;
    unsigned flags;
    void *address;
    char *name;
    unsigned long size, data;
    void *aux;
};
extern struct entry __start_llvm_offload_entries[] __attribute__((weak, visibility("hidden")));
extern struct entry __stop_llvm_offload_entries[] __attribute__((weak, visibility("hidden")));

// Sorted. Other linked code may be in the same program.
static const char *const names[] = {
    @NAMES@,
    0,
};

static const struct {
    unsigned magic, version;
    const void *binary;
    void *unused;
} wrapper __attribute__((section(".hipFatBinSegment"), used)) = {0x48495046, 1, ferrocm_linked_code, 0};

void **__hipRegisterFatBinary(const void *);
void __hipUnregisterFatBinary(void **);
void __hipRegisterFunction(void **, const void *, char *, const char *, unsigned, void *, void *, void *, void *, int *);
void __hipRegisterVar(void **, void *, char *, const char *, int, unsigned long, int, int);
void __hipRegisterManagedVar(void **, void **, void *, const char *, unsigned long, unsigned);
int atexit(void (*)(void));
int strcmp(const char *, const char *);

static void **handle;

static int has(const char *name) {
    unsigned long low = 0, high = sizeof names / sizeof *names - 1;
    while (low < high) {
        unsigned long middle = (low + high) / 2;
        int order = strcmp(names[middle], name);
        if (order == 0) return 1;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return 0;
}

static void leave(void) {
    if (handle) __hipUnregisterFatBinary(handle);
    handle = 0;
}

__attribute__((constructor)) static void enter(void) {
    handle = __hipRegisterFatBinary(&wrapper);
    for (struct entry *e = __start_llvm_offload_entries; e != __stop_llvm_offload_entries; e++) {
        if (e->kind != 4 || !has(e->name)) continue;
        if (!e->size) __hipRegisterFunction(handle, e->address, e->name, e->name, -1, 0, 0, 0, 0, 0);
        else if ((e->flags & 7) == 0)
            __hipRegisterVar(handle, e->address, e->name, e->name, (e->flags >> 3) & 1, e->size, (e->flags >> 4) & 1, 0);
        else if ((e->flags & 7) == 1) __hipRegisterManagedVar(handle, e->aux, e->address, e->name, e->size, e->data);
    }
    atexit(leave);
}
