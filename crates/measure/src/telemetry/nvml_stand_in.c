// Stands in for libnvidia-ml.so.1 in tests: two GPUs, by the signatures of nvml.h.
typedef int nvmlReturn_t;
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3 };
typedef struct gpu *nvmlDevice_t;
typedef struct { char busIdLegacy[16]; unsigned domain, bus, device, pciDeviceId, pciSubSystemId; char busId[32]; } nvmlPciInfo_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } nvmlMemory_v2_t;

static void text(char *to, unsigned room, const char *from) {
    unsigned i = 0;
    for (; from[i] && i + 1 < room; i++)
        to[i] = from[i];
    if (room)
        to[i] = 0;
}
// A handle is the number plus one.
static unsigned number(nvmlDevice_t device) { return (unsigned)((unsigned long)device - 1); }

nvmlReturn_t nvmlInit_v2(void) { return SUCCESS; }
nvmlReturn_t nvmlInitWithFlags(unsigned flags) { return flags ? INVALID_ARGUMENT : SUCCESS; }
nvmlReturn_t nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t result) { return result ? "an error" : "none"; }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) { return *count = 2, SUCCESS; }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
    if (index > 1)
        return INVALID_ARGUMENT;
    *device = (nvmlDevice_t)(unsigned long)(index + 1);
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned room) { return text(name, room, "NVIDIA H100 80GB HBM3"), SUCCESS; }
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned room) { return text(uuid, room, "GPU-0"), SUCCESS; }
nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned room) { return text(version, room, "570.86.15"), SUCCESS; }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { return *version = 12080, SUCCESS; }
nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned *cores) { return *cores = 16896, SUCCESS; }
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) { return *major = 9, *minor = 0, SUCCESS; }
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) { return memory->total = 85520000000ull, SUCCESS; }
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *place) {
    *place = (nvmlPciInfo_t){.domain = 1, .bus = number(device) ? 0x5d : 0x19, .device = 2};
    text(place->busId, sizeof place->busId, number(device) ? "00000001:5D:02.0" : "00000001:19:02.0");
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *milliwatts) { return *milliwatts = 700000, SUCCESS; }
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts) { return *milliwatts = 412500, SUCCESS; }
// Clocks: 0 is graphics, 1 SM, 2 memory. Sensor 0 is the GPU.
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int clock, unsigned *mhz) { return *mhz = clock == 1 ? 1980 : 2619, SUCCESS; }
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int clock, unsigned *mhz) {
    if (clock != 1)
        return NOT_SUPPORTED;
    *mhz = 1755;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius) { return *celsius = sensor ? 0 : 61, SUCCESS; }
