/* duty: a load whose truth is known. It keeps a device busy and idle in turns and prints, as one
 * line of JSON, what it really did. Without a GPU the same turns are burnt on one CPU. */
#include "cuda_spinner.h"
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: duty --busy-ms N --idle-ms N --cycles N [options]\n"
    "\n"
    "Keeps a device busy for N ms and idle for N ms, N times, and prints one line of JSON about "
    "it.\n"
    "\n"
    "  --vram-mib N    device memory to fill and hold, MiB (default: 0)\n"
    "  --blocks N      blocks of the kernel (default: two per multiprocessor)\n"
    "  --threads N     threads per block (default: 256)\n"
    "  --device NAME   gpu; cpu: burn one CPU and hold host memory instead; auto: gpu where there\n"
    "                  is one, else cpu (default: auto)\n"
    "  --help          print this\n"
    "\n"
    "Exit status: 0 done, 1 the device or the memory failed, 2 called wrongly, 69 there is no "
    "CUDA\n"
    "device.";

/* No kernel runs longer than this: a display's watchdog would end it, and a signal would wait. */
static const int64_t slice_ns = 20 * NS_PER_MS;
/* A rest shorter than this is not worth a launch. */
static const int64_t rest_ns = NS_PER_MS / 2;

typedef struct {
    int64_t busy_ms;
    int64_t idle_ms;
    int64_t cycles;
    int64_t vram_mib;
    int64_t blocks; /* 0: chosen by the size of the device */
    int64_t threads;
    workload_device device;
} duty_options;

typedef struct {
    bool gpu;
    cuda_driver driver; /* on the CPU: error says why, if no CPU was asked for */
    cuda_spinner spinner;
    size_t used_bytes; /* of the whole device, as the cycles began */
    void *host_memory; /* NULL: none */
} duty_device;

typedef struct {
    int64_t start_ms; /* since 1970 */
    int64_t wall_ns;
    int64_t busy_ns;
    int64_t kernel_ns;
} duty_truth;

/* All cycles together fit in int64_t nanoseconds. */
static const workload_number numbers[] = {
    {"busy-ms", offsetof(duty_options, busy_ms), 0, 3600000},
    {"idle-ms", offsetof(duty_options, idle_ms), 0, 3600000},
    {"cycles", offsetof(duty_options, cycles), 1, 1000000},
    {"vram-mib", offsetof(duty_options, vram_mib), 0, 16777216},
    {"blocks", offsetof(duty_options, blocks), 1, 2147483647},
    {"threads", offsetof(duty_options, threads), 1, 1024},
};

static const workload_command command = {
    .program = "duty",
    .help = help,
    .numbers = numbers,
    .number_count = sizeof numbers / sizeof numbers[0],
    .device_slot = offsetof(duty_options, device),
};

/* Ends the process if the options are wrong. */
static duty_options parse_options(int argc, char **argv) {
    duty_options options = {.busy_ms = -1, .idle_ms = -1, .threads = 256, .device = {true, true}};
    workload_parse(&command, argc, argv, &options);
    if (options.busy_ms < 0 || options.idle_ms < 0 || options.cycles == 0) {
        workload_refuse(command.program, "--busy-ms, --idle-ms and --cycles are needed");
    }
    if (options.busy_ms + options.idle_ms == 0) {
        workload_refuse(command.program, "--busy-ms and --idle-ms cannot both be 0");
    }
    return options;
}

static bool hold_host_memory(duty_device *device, size_t bytes) {
    device->host_memory = malloc(bytes);
    if (device->host_memory == NULL) {
        (void)snprintf(device->driver.error, sizeof device->driver.error,
                       "no %zu bytes of host memory", bytes);
        return false;
    }
    memset(device->host_memory, 1, bytes);
    return true;
}

/* Of anything but CUDA_READY, driver.error says what is wrong. */
static cuda_outcome open_device(duty_device *device, duty_options *options) {
    const size_t bytes = (size_t)options->vram_mib << MIB_SHIFT;
    uint64_t memory = 0; /* the context's, until its end */
    *device = (duty_device){0};
    cuda_outcome outcome = CUDA_ABSENT;
    if (options->device.may_use_gpu) {
        outcome = cuda_driver_open(&device->driver);
    }
    if (outcome == CUDA_ABSENT && options->device.may_use_cpu) {
        return bytes == 0 || hold_host_memory(device, bytes) ? CUDA_READY : CUDA_FAILED;
    }
    if (outcome != CUDA_READY) {
        return outcome;
    }
    device->gpu = true;
    if (options->blocks == 0) {
        options->blocks = 2 * (int64_t)device->driver.multiprocessors;
    }
    bool ready = cuda_spinner_open(&device->spinner, &device->driver, (unsigned int)options->blocks,
                                   (unsigned int)options->threads) &&
                 (bytes == 0 || cuda_driver_allocate(&device->driver, bytes, &memory)) &&
                 cuda_driver_used(&device->driver, &device->used_bytes);
    return ready ? CUDA_READY : CUDA_FAILED;
}

static bool close_device(duty_device *device) {
    free(device->host_memory);
    device->host_memory = NULL;
    bool done = cuda_spinner_close(&device->spinner);
    return cuda_driver_close(&device->driver) && done;
}

/* Keeps the device busy until then, to within rest_ns. */
static bool stay_busy(duty_device *device, int64_t until_ns, int64_t *kernel_ns) {
    for (int64_t left = until_ns - workload_now_ns(); left >= rest_ns;
         left = until_ns - workload_now_ns()) {
        const int64_t slice = left < slice_ns ? left : slice_ns;
        if (!device->gpu) {
            for (const int64_t end = workload_now_ns() + slice; workload_now_ns() < end;) {
            }
        } else if (!cuda_spinner_run(&device->spinner, (uint64_t)slice, kernel_ns)) {
            return false;
        }
    }
    return true;
}

/* All deadlines count from the first moment, so that small delays do not add up. */
static bool run_cycles(duty_device *device, const duty_options *options, duty_truth *truth) {
    const int64_t period_ns = (options->busy_ms + options->idle_ms) * NS_PER_MS;
    *truth = (duty_truth){.start_ms = workload_epoch_ms()};
    const int64_t start = workload_now_ns();
    for (int64_t i = 0; i < options->cycles; i++) {
        const int64_t cycle_start = start + i * period_ns;
        const int64_t before = workload_now_ns();
        if (!stay_busy(device, cycle_start + options->busy_ms * NS_PER_MS, &truth->kernel_ns)) {
            return false;
        }
        truth->busy_ns += options->busy_ms == 0 ? 0 : workload_now_ns() - before;
        workload_sleep_until(cycle_start + period_ns);
    }
    truth->wall_ns = workload_now_ns() - start;
    return true;
}

static void print_gpu(const duty_device *device, const duty_options *options,
                      const duty_truth *truth) {
    (void)printf(", \"kernel_s\": %.4f, \"spin_ratio\": %.4f, \"device_used_mib\": %zu, "
                 "\"multiprocessors\": %d, \"blocks\": %" PRId64 ", \"threads\": %" PRId64,
                 (double)truth->kernel_ns / NS_PER_S, device->spinner.ratio,
                 device->used_bytes >> MIB_SHIFT, device->driver.multiprocessors, options->blocks,
                 options->threads);
}

/* False: stdout could not be written. */
static bool print_truth(const duty_device *device, const duty_options *options,
                        const duty_truth *truth) {
    (void)putchar('{');
    workload_print_string("device", device->gpu ? "gpu" : "cpu");
    (void)fputs(", ", stdout);
    if (device->gpu) {
        workload_print_string("name", device->driver.name);
        (void)fputs(", ", stdout);
        workload_print_string("uuid", device->driver.uuid);
        (void)fputs(", ", stdout);
    } else if (options->device.may_use_gpu) {
        workload_print_string("why_cpu", device->driver.error);
        (void)fputs(", ", stdout);
    }
    const double wall_s = (double)truth->wall_ns / NS_PER_S;
    const double busy_s = (double)truth->busy_ns / NS_PER_S;
    const double on_s = device->gpu ? (double)truth->kernel_ns / NS_PER_S : busy_s;
    (void)printf("\"start_ms\": %" PRId64 ", \"busy_ms\": %" PRId64 ", \"idle_ms\": %" PRId64
                 ", \"cycles\": %" PRId64 ", \"wall_s\": %.4f, \"busy_s\": %.4f, "
                 "\"duty_pct\": %.2f, \"vram_mib\": %" PRId64 ", \"host_mib\": %" PRId64,
                 truth->start_ms, options->busy_ms, options->idle_ms, options->cycles, wall_s,
                 busy_s, 100 * on_s / wall_s, device->gpu ? options->vram_mib : 0,
                 device->gpu ? 0 : options->vram_mib);
    if (device->gpu) {
        print_gpu(device, options, truth);
    }
    (void)putchar('}');
    return workload_end_line(command.program);
}

int main(int argc, char **argv) {
    duty_options options = parse_options(argc, argv);
    duty_device device;
    duty_truth truth;
    cuda_outcome outcome = open_device(&device, &options);
    bool done = outcome == CUDA_READY && run_cycles(&device, &options, &truth);
    done = close_device(&device) && done;
    if (!done) {
        (void)fprintf(stderr, "duty: %s\n", device.driver.error);
        return outcome == CUDA_ABSENT ? EXIT_NO_DEVICE : EXIT_FAILURE;
    }
    return print_truth(&device, &options, &truth) ? 0 : EXIT_FAILURE;
}
