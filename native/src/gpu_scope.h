/* Which devices belong to the task, by CUDA's own rules for CUDA_VISIBLE_DEVICES. Pure: text in,
 * choice out. */
#ifndef PROBE_GPU_SCOPE_H
#define PROBE_GPU_SCOPE_H

#include "gpu_page.h"
#include <stdbool.h>

/* Whole devices, and behind them the instances of divided ones (MIG). */
enum { PROBE_SCOPE_MAX = 128 };

typedef struct {
    const char *name, *uuid;
    int index;         /* NVML's: devices that cannot be opened have one too */
    const char *alias; /* another uuid that CUDA takes; NULL: there is none */
    bool is_instance;  /* it has a uuid, but no ordinal of its own */
    bool is_shut;      /* the driver counts it, but gives no access: nothing else is known of it */
} probe_scope_device;

typedef struct {
    probe_gpus gpus;
    bool ambiguous;                   /* another device than CUDA's may have been chosen */
    const char *reason;               /* what is to be said of the choice; NULL: nothing */
    char detail[NVML_UUID_SIZE + 64]; /* what the reason is about; may be empty */
    bool order_doubtful;              /* ambiguous because CUDA may number the devices otherwise */
    int count;
    int chosen[PROBE_SCOPE_MAX]; /* positions in the given list, in CUDA's order, none twice */
} probe_scope;

/* visible: the value of CUDA_VISIBLE_DEVICES, NULL when it is unset. pci_order: CUDA_DEVICE_ORDER
 * is PCI_BUS_ID. devices: what NVML enumerates, in its order; count <= PROBE_SCOPE_MAX. */
probe_scope probe_scope_select(const char *visible, bool pci_order,
                               const probe_scope_device *devices, int count);

/* Takes out of a choice what cannot be measured, which leaves it ambiguous. */
void probe_scope_drop_shut(probe_scope *scope, const probe_scope_device *devices);

#endif
