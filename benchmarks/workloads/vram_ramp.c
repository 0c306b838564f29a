/* vram_ramp: device memory of which is known how much there was, and when. It allocates step after
 * step, holds each for a time, and prints, as one line of JSON, what was held from when to when. */
#include "cuda_driver.h"
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "usage: vram_ramp --step-mib N --steps N --hold-ms N\n"
    "\n"
    "Holds nothing, then N MiB of device memory, then 2 x N MiB, and so on, each for the same "
    "time,\n"
    "and prints one line of JSON about it. All memory is written to, so that it is really there.\n"
    "\n"
    "  --step-mib N    size of a step, MiB\n"
    "  --steps N       number of steps, 1 to 1000\n"
    "  --hold-ms N     how long each is held, and nothing before the first\n"
    "  --device gpu    the only one, and the default: there is no host memory in place of it\n"
    "  --help          print this\n"
    "\n"
    "Exit status: 0 done, 1 the device or the memory failed, 2 called wrongly, 69 there is no "
    "CUDA\n"
    "device.";

enum { MOST_STEPS = 1000 };

typedef struct {
    int64_t step_mib;
    int64_t steps;
    int64_t hold_ms;
    workload_device device;
} ramp_options;

/* What was held from start to end, both ms since 1970. */
typedef struct {
    int64_t start_ms;
    int64_t end_ms;
    size_t used_bytes; /* of the whole device */
} ramp_step;

typedef struct {
    cuda_driver driver;
    ramp_step steps[MOST_STEPS + 1]; /* the first is without any allocation */
} ramp;

static const workload_number numbers[] = {
    {"step-mib", offsetof(ramp_options, step_mib), 1, 1048576},
    {"steps", offsetof(ramp_options, steps), 1, MOST_STEPS},
    {"hold-ms", offsetof(ramp_options, hold_ms), 1, 3600000},
};

static const workload_command command = {
    .program = "vram_ramp",
    .help = help,
    .numbers = numbers,
    .number_count = sizeof numbers / sizeof numbers[0],
    .device_slot = offsetof(ramp_options, device),
};

static ramp_options parse_options(int argc, char **argv) {
    ramp_options options = {.device = {.may_use_gpu = true}};
    workload_parse(&command, argc, argv, &options);
    if (options.step_mib == 0 || options.steps == 0 || options.hold_ms == 0) {
        workload_refuse(command.program, "--step-mib, --steps and --hold-ms are needed");
    }
    if (options.device.may_use_cpu) {
        workload_refuse(command.program, "--device: there is only gpu");
    }
    return options;
}

static bool climb(ramp *r, const ramp_options *options) {
    uint64_t memory = 0; /* the context's, until its end */
    for (int64_t i = 0; i <= options->steps; i++) {
        ramp_step *step = &r->steps[i];
        if (i > 0 &&
            !cuda_driver_allocate(&r->driver, (size_t)options->step_mib << MIB_SHIFT, &memory)) {
            return false;
        }
        step->start_ms = workload_epoch_ms();
        const int64_t start_ns = workload_now_ns();
        if (!cuda_driver_used(&r->driver, &step->used_bytes)) {
            return false;
        }
        workload_sleep_until(start_ns + options->hold_ms * NS_PER_MS);
        step->end_ms = workload_epoch_ms();
    }
    return true;
}

/* False: stdout could not be written. */
static bool print_truth(const ramp *r, const ramp_options *options) {
    (void)fputs("{\"device\": \"gpu\", ", stdout);
    workload_print_string("name", r->driver.name);
    (void)fputs(", ", stdout);
    workload_print_string("uuid", r->driver.uuid);
    (void)printf(", \"vram_mib\": %" PRId64 ", \"steps\": [", options->steps * options->step_mib);
    for (int64_t i = 0; i <= options->steps; i++) {
        const ramp_step *step = &r->steps[i];
        (void)printf("%s{\"vram_mib\": %" PRId64
                     ", \"device_used_mib\": %zu, \"start_ms\": %" PRId64 ", \"end_ms\": %" PRId64
                     "}",
                     i == 0 ? "" : ", ", i * options->step_mib, step->used_bytes >> MIB_SHIFT,
                     step->start_ms, step->end_ms);
    }
    (void)fputs("]}", stdout);
    return workload_end_line(command.program);
}

int main(int argc, char **argv) {
    static ramp r;
    const ramp_options options = parse_options(argc, argv);
    const cuda_outcome outcome = cuda_driver_open(&r.driver);
    bool done = outcome == CUDA_READY && climb(&r, &options);
    done = cuda_driver_close(&r.driver) && done;
    if (!done) {
        (void)fprintf(stderr, "vram_ramp: %s\n", r.driver.error);
        return outcome == CUDA_ABSENT ? EXIT_NO_DEVICE : EXIT_FAILURE;
    }
    return print_truth(&r, &options) ? 0 : EXIT_FAILURE;
}
