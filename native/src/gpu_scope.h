/* Which devices belong to the task, by CUDA's own rules for CUDA_VISIBLE_DEVICES. Pure: text in,
 * choice out. */
#ifndef PROBE_GPU_SCOPE_H
#define PROBE_GPU_SCOPE_H

#include "gpu_page.h"
#include <stdbool.h>

typedef struct {
    const char *name, *uuid;
    int index; /* NVML's: devices that cannot be opened have one too */
} probe_scope_device;

typedef struct {
    probe_gpus gpus;
    bool ambiguous; /* another device than CUDA's may have been chosen; reason says why */
    const char *reason;
    char detail[NVML_UUID_SIZE]; /* what the reason is about; may be empty */
    bool order_doubtful;         /* ambiguous because CUDA may number the devices otherwise */
    int count;
    int chosen[PROBE_GPU_MAX]; /* positions in the given list, in CUDA's order, none twice */
} probe_scope;

/* visible: the value of CUDA_VISIBLE_DEVICES, NULL when it is unset. pci_order: CUDA_DEVICE_ORDER
 * is PCI_BUS_ID. devices: what NVML enumerates, in its order; count <= PROBE_GPU_MAX. */
probe_scope probe_scope_select(const char *visible, bool pci_order,
                               const probe_scope_device *devices, int count);

#endif
