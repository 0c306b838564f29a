#include "check_gpu.h"

#include "clock.h"
#include "gpu_reader.h"
#include "trace_gpu_device.h"
#include "trace_gpu_probe.h"
#include "trace_gpu_sharing.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int first_reading_ms = 5000, last_reading_ms = 1000;

/* Between the two: GPM counters have no difference over less than 0.1 s. */
static const int between_readings_ms = 150;

/* As if the task had begun a little earlier, so that the driver's history has entries of it. */
static const int64_t backlog_ns = 3 * PROBE_NS_PER_S;

static const char see_driver[] =
    "see whether nvidia-smi works here; in a container its driver libraries must be the host's";

static const char correct_option[] =
    "correct --gpus or GPU_PROBE_GPUS: nvidia-smi -L lists indices and UUIDs";

/* Each key of a device, and whether the driver gave it. */
typedef struct {
    const char *key, *source, *reason;
} device_check;

/* How good a source of utilization is; NULL: as good as can be. */
static const char *about_source(const probe_gpu_device *device) {
    switch (device->utilization_source) {
    case PROBE_UTILIZATION_RATES:
        return "polled: no history of samples on this driver";
    case PROBE_UTILIZATION_GPM:
        return "no history of samples here: exact means between two readings";
    default:
        return NULL;
    }
}

/* No task runs: whether one would be told from others. */
static bool tells_processes(const probe_gpu_device *device, probe_pid_view pids) {
    return device->sharing.listed && pids != PROBE_PIDS_FOREIGN;
}

static void check_device(probe_check_list *list, const probe_gpu_device *device,
                         probe_pid_view pids) {
    bool utilization = device->utilization_source != PROBE_UTILIZATION_NONE;
    const char *source = utilization ? probe_utilization_source_name(device) : NULL;
    const char *controller = device->memory.readings > 0 ? source : NULL;
    const char *memory =
        device->memory_source != PROBE_MEMORY_NONE ? probe_memory_source_name(device) : NULL;
    const char *no_controller = device->utilization_source == PROBE_UTILIZATION_GPM
                                    ? "GPM does not tell it"
                                    : "the driver gave no reading of the memory controller";
    const device_check checks[] = {
        {"utilization", source,
         device->utilization_forbidden
             ? "the driver does not permit it"
             : "the driver does not tell it for this device, as for MIG instances before Hopper"},
        {"mem_bw_util", controller, no_controller},
        {"sm_activity_pct", device->activity.supported ? "nvml_gpm" : NULL,
         "no GPM: the device is older than Hopper, or the driver older than its branch 525"},
        {"memory", memory, probe_memory_reason(device)},
        {"own_peak_mem_used", tells_processes(device, pids) ? "nvml_processes" : NULL,
         probe_own_memory_reason(device, pids)},
        {"energy_mj", device->health.energy_valid ? "nvml_total_energy" : NULL,
         "this device has no energy counter: older than Volta, or a MIG instance"},
        {"throttle_reasons", device->health.throttle_valid ? "nvml_clocks_event_reasons" : NULL,
         "the driver does not tell it for this device"},
        {"peak_temp_c", device->health.temp_valid ? "nvml_temperature" : NULL,
         "the driver does not tell it for this device"},
        {"ecc_uncorrected", device->health.ecc_uncorrected_valid ? "nvml_total_ecc_errors" : NULL,
         "this device has no ECC memory, or ECC is off"},
        {"xids", device->health.events_valid ? "nvml_events" : NULL,
         "the driver does not report events of this device, as of MIG instances"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        int before = list->count;
        if (checks[i].source != NULL) {
            probe_check_pass(list, "gpu", checks[i].key, checks[i].source,
                             i == 0 ? about_source(device) : NULL);
        } else {
            probe_check_miss(list, "gpu", checks[i].key, checks[i].reason, NULL);
        }
        for (int n = before; n < list->count; n++) {
            list->item[n].device = device->index;
        }
    }
}

static bool by_option(const probe_gpu_snapshot *gpu) {
    return gpu->gpus == PROBE_GPUS_OPTION;
}

/* Whether these are the task's devices, and all of them. */
static void check_scope(probe_check_list *list, const probe_gpu_snapshot *gpu) {
    const char *doubt = gpu->scope_note[0] != '\0' ? gpu->scope_note : gpu->note;
    const char *next_step = NULL;
    if (gpu->ambiguous) {
        bool order = strstr(gpu->scope_note, "CUDA_DEVICE_ORDER") != NULL;
        next_step = order ? "name the devices: --gpus; or set CUDA_DEVICE_ORDER=PCI_BUS_ID"
                          : "name the devices: --gpus";
    } else if (gpu->scope_note[0] != '\0') {
        next_step = by_option(gpu) ? correct_option : "correct CUDA_VISIBLE_DEVICES";
    }
    if (gpu->ambiguous || doubt[0] != '\0') {
        probe_check_miss(list, "gpu", "scope", doubt, next_step);
    } else {
        probe_check_pass(list, "gpu", "scope", probe_gpus_name(gpu->gpus), NULL);
    }
}

static void check_devices(probe_check_list *list, const probe_gpu_snapshot *gpu,
                          const char *library) {
    char detail[PROBE_CHECK_DETAIL];
    const char *driver = gpu->driver[0] != '\0' ? gpu->driver : "unknown";
    (void)snprintf(detail, sizeof detail, "driver %s%s", driver,
                   gpu->mock ? ", mock driver: not a real GPU" : "");
    if (gpu->driver[0] == '\0' && gpu->count == 0) {
        bool unloaded = library != NULL && strstr(gpu->note, "could be loaded") != NULL;
        probe_check_miss(list, "gpu", "driver", gpu->note,
                         unloaded ? "check --nvml-library or GPU_PROBE_NVML_LIBRARY" : see_driver);
        return;
    }
    probe_check_pass(list, "gpu", "driver", "nvml", detail);
    if (gpu->count == 0) {
        probe_check_miss(list, "gpu", "devices", gpu->note,
                         by_option(gpu) ? correct_option
                                        : "ask the engine for GPUs, or look at "
                                          "CUDA_VISIBLE_DEVICES");
        return;
    }
    for (int i = 0; i < gpu->count; i++) {
        const probe_gpu_device *device = &gpu->device[i];
        (void)snprintf(detail, sizeof detail, "%.90s, %.90s",
                       device->name[0] != '\0' ? device->name : "GPU without a name", device->uuid);
        probe_check_pass(list, "gpu", "device", "nvml", detail);
        list->item[list->count - 1].device = device->index;
        check_device(list, device, gpu->pids);
    }
    check_scope(list, gpu);
}

/* Waits for the helper's first reading. False: none came; ended: because the helper died. */
static bool wait_for_reading(probe_gpu_reader *reader, bool *ended) {
    int64_t deadline = probe_clock_mono_ns() + first_reading_ms * PROBE_NS_PER_MS;
    *ended = false;
    for (;;) {
        probe_gpu_read(reader);
        if (reader->any || *ended || probe_clock_mono_ns() >= deadline) {
            return reader->any;
        }
        (void)poll(NULL, 0, 10);
        if (waitpid(reader->pid, NULL, WNOHANG) == reader->pid) {
            reader->pid = 0;
            *ended = true;
        }
    }
}

/* False: the helper is missing or cannot be started. */
static bool check_helper(probe_check_list *list, const probe_check_config *config,
                         probe_gpu_reader *reader) {
    if (config->helper_path == NULL) {
        probe_check_miss(list, "gpu", "helper", "where gpu-probe lies is not known without /proc",
                         "mount /proc in this container");
        return false;
    }
    if (access(config->helper_path, X_OK) != 0) {
        probe_check_miss(list, "gpu", "helper", "there is no gpu-probe-nvml beside gpu-probe",
                         "copy both into the image, side by side");
        return false;
    }
    const probe_gpu_config gpu = {.helper_path = config->helper_path,
                                  .nvml_library = config->nvml_library,
                                  .gpus = config->gpus,
                                  .dev_root = config->dev_root,
                                  .start_ns = probe_clock_mono_ns() - backlog_ns,
                                  .interval_ns = config->interval_ns};
    probe_gpu_open(reader, &gpu);
    if (reader->note[0] != '\0') {
        probe_check_miss(list, "gpu", "helper", reader->note,
                         "gpu-probe-nvml needs the C library of the driver, glibc: use an image "
                         "that has it");
        return false;
    }
    return true;
}

void probe_check_gpu(probe_check_list *list, const probe_check_config *config) {
    probe_gpu_reader reader = {0};
    probe_gpu_none(&reader);
    const char *node = probe_gpu_device_node(config->dev_root);
    if (config->gpus != NULL && strcmp(config->gpus, "none") == 0) {
        probe_check_miss(list, "gpu", "scope", "GPUs are left out: --gpus none", NULL);
        return;
    }
    if (node != NULL) {
        probe_check_pass(list, "gpu", "device_node", "dev", node);
    } else if (config->nvml_library == NULL) {
        probe_check_miss(list, "gpu", "device_node", "no node of an NVIDIA device in /dev",
                         "if this host has a GPU: docker --gpus all, apptainer --nv, a request "
                         "for a GPU to Slurm or Kubernetes");
        return;
    } else {
        probe_check_miss(list, "gpu", "device_node", "no node of an NVIDIA device in /dev", NULL);
    }
    if (!check_helper(list, config, &reader)) {
        return;
    }
    bool ended = false;
    if (wait_for_reading(&reader, &ended)) {
        (void)poll(NULL, 0, between_readings_ms);
        probe_gpu_finish(&reader, last_reading_ms); /* the energy counter's second reading */
        probe_check_pass(list, "gpu", "helper", "gpu-probe-nvml", NULL);
        check_devices(list, &reader.last, config->nvml_library);
    } else if (ended) {
        probe_check_miss(list, "gpu", "helper", "gpu-probe-nvml ended before its first reading",
                         "its C library, glibc, may be too old, or the driver's library crashed: "
                         "see whether nvidia-smi works here");
    } else {
        probe_check_pass(list, "gpu", "helper", "gpu-probe-nvml", NULL);
        probe_check_miss(list, "gpu", "driver", "no answer within 5 s",
                         "nvidia-smi hangs as well? Then the host's administrator should look at "
                         "its kernel log for Xid messages");
    }
    probe_gpu_close(&reader);
}
