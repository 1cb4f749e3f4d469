// Prints what libamd_smi reports about the devices.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint32_t status;
typedef void *handle;
status amdsmi_init(uint64_t);
status amdsmi_get_socket_handles(uint32_t *, handle *);
status amdsmi_get_processor_handles(handle, uint32_t *, handle *);
status amdsmi_get_processor_type(handle, uint32_t *);
status amdsmi_get_gpu_bdf_id(handle, uint64_t *);
status amdsmi_get_gpu_id(handle, uint16_t *);
status amdsmi_get_gpu_memory_total(handle, uint32_t, uint64_t *);
status amdsmi_get_processor_handle_from_bdf(uint64_t, handle *);
status amdsmi_get_gpu_fan_speed(handle, uint32_t, int64_t *);

int main(void) {
    handle sockets[8], processor = NULL, found = NULL;
    uint32_t count = 0, processors = 0, kind = 0, one = 1;
    uint64_t place = 0, memory = 0;
    uint16_t id = 0;
    int64_t speed = 0;
    status started = amdsmi_init(2);
    if (started != 0) {
        printf("no start: %u\n", started);
        return 0;
    }
    if (amdsmi_get_socket_handles(&count, NULL) != 0 || count > 8 || amdsmi_get_socket_handles(&count, sockets) != 0)
        return 1;
    printf("%u sockets\n", count);
    for (uint32_t i = 0; i < count; i++) {
        processors = 1;
        status all = amdsmi_get_processor_handles(sockets[i], &processors, &processor) |
                     amdsmi_get_processor_type(processor, &kind) | amdsmi_get_gpu_bdf_id(processor, &place) |
                     amdsmi_get_gpu_id(processor, &id) | amdsmi_get_gpu_memory_total(processor, 0, &memory);
        if (all != 0)
            return 1;
        printf("%u: %u processors of type %u, at %lx, id %x, %lu bytes\n", i, processors, kind, place, id, memory);
    }
    amdsmi_get_socket_handles(&one, sockets);
    printf("one of them: %u\n", one);
    status there = amdsmi_get_processor_handle_from_bdf(place, &found), nowhere = amdsmi_get_processor_handle_from_bdf(7, &found);
    printf("found by its place: %d, nowhere: %u\n", there == 0 && found == processor, nowhere);
    status fan = amdsmi_get_gpu_fan_speed(processor, 0, &speed);
    status none = amdsmi_get_gpu_id(NULL, &id), null = amdsmi_get_gpu_id(processor, NULL);
    printf("fan: %u, no handle: %u, null: %u\n", fan, none, null);
    return 0;
}
