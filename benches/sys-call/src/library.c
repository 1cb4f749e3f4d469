/* Functions with names and types of HIP functions that do next to nothing, so that only the call is measured. */

int hipInit(unsigned flags) { return (int)(flags & 0); }

int hipGetLastError(void) { return 0; }

int hipRuntimeGetVersion(int *version) {
    *version = 70200000;
    return 0;
}

int hipPointerGetAttribute(void *data, int attribute, void *pointer) {
    *(void **)data = pointer;
    return attribute & 0;
}
