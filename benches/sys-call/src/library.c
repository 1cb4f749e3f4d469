/* Functions with the names and types of HIP's that do next to nothing, so that what is measured is the call. */

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
