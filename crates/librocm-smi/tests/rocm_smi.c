// Prints what librocm_smi64 reports about the devices.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint32_t status;
status rsmi_init(uint64_t);
status rsmi_num_monitor_devices(uint32_t *);
status rsmi_dev_pci_id_get(uint32_t, uint64_t *);
status rsmi_dev_id_get(uint32_t, uint16_t *);
status rsmi_dev_vendor_id_get(uint32_t, uint16_t *);
status rsmi_dev_vendor_name_get(uint32_t, char *, size_t);
status rsmi_dev_target_graphics_version_get(uint32_t, uint64_t *);
status rsmi_dev_memory_total_get(uint32_t, uint32_t, uint64_t *);
status rsmi_dev_node_id_get(uint32_t, uint32_t *);
status rsmi_dev_name_get(uint32_t, char *, size_t);
status rsmi_topo_get_link_type(uint32_t, uint32_t, uint64_t *, uint32_t *);
status rsmi_topo_get_link_weight(uint32_t, uint32_t, uint64_t *);
status rsmi_is_P2P_accessible(uint32_t, uint32_t, bool *);
status rsmi_dev_fan_rpms_get(uint32_t, uint32_t, int64_t *);

int main(void) {
    uint32_t count = 0, node = 0, kind = 0;
    uint64_t place = 0, version = 0, memory = 0, hops = 0, weight = 0;
    uint16_t id = 0, vendor = 0;
    int64_t speed = 0;
    bool access = false;
    char name[64], vendor_name[64], small[5];
    status started = rsmi_init(0);
    if (started != 0) {
        printf("no start: %u\n", started);
        return 0;
    }
    rsmi_num_monitor_devices(&count);
    printf("%u devices\n", count);
    for (uint32_t i = 0; i < count; i++) {
        status all = rsmi_dev_pci_id_get(i, &place) | rsmi_dev_id_get(i, &id) | rsmi_dev_vendor_id_get(i, &vendor) |
                     rsmi_dev_vendor_name_get(i, vendor_name, sizeof vendor_name) |
                     rsmi_dev_target_graphics_version_get(i, &version) | rsmi_dev_memory_total_get(i, 0, &memory) |
                     rsmi_dev_node_id_get(i, &node) | rsmi_dev_name_get(i, name, sizeof name);
        if (all != 0)
            return 1;
        printf("%u: at %lx, id %x, vendor %x %s, gfx%lx, %lu bytes, node %u, %s\n", i, place, id, vendor, vendor_name, version,
               memory, node, name);
    }
    if (rsmi_topo_get_link_type(0, 1, &hops, &kind) | rsmi_topo_get_link_weight(0, 1, &weight) |
        rsmi_is_P2P_accessible(0, 1, &access))
        return 1;
    printf("link of kind %u, %lu hops, weight %lu, access %d\n", kind, hops, weight, access);
    status fan = rsmi_dev_fan_rpms_get(0, 0, &speed), none = rsmi_dev_id_get(count, &id), null = rsmi_dev_id_get(0, NULL);
    status shorter = rsmi_dev_name_get(0, small, sizeof small);
    printf("fan: %u, no device: %u, null: %u, short text: %u \"%s\"\n", fan, none, null, shorter, small);
    return 0;
}
