/* What is published of a device that is an instance (MIG device) of a divided one. */
#ifndef PROBE_GPU_MIG_H
#define PROBE_GPU_MIG_H

#include "nvml_types.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool is_instance;                 /* false: a whole device; nothing else is set */
    int gi, ci;                       /* GPU instance, compute instance; -1: not known */
    unsigned int slices;              /* of the divided device; 0: not known, as the next one */
    unsigned int compute_slices;      /* of the GPU instance */
    char parent_uuid[NVML_UUID_SIZE]; /* empty: not known */
} probe_gpu_mig;

#endif
