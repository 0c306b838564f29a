/* Which devices are to be measured: the user's word first, then CUDA's rules, then hints. Pure. */
#ifndef PROBE_GPU_REQUEST_H
#define PROBE_GPU_REQUEST_H

#include "gpu_scope.h"

/* Values of the option and of environment variables; NULL: not given. */
typedef struct {
    const char *option; /* --gpus: auto, all or a list of NVML's indices and uuids */
    const char *cuda_visible_devices, *cuda_device_order;
    const char *slurm_step_gpus, *gpu_device_ordinal;
    const char *nvidia_visible_devices;
} probe_gpu_request;

probe_gpu_request probe_gpu_request_read(const char *option);

/* --gpus: auto, none, all, or indices and uuids (or beginnings of them), joined by commas. */
bool probe_gpu_option_valid(const char *option);

/* devices: what NVML enumerates, in its order; count <= PROBE_GPU_MAX. */
probe_scope probe_gpu_request_resolve(const probe_gpu_request *request,
                                      const probe_scope_device *devices, int count);

#endif
