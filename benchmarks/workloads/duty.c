/* duty: a load whose truth is known. It keeps a device busy and idle in turns and prints, as one
 * line of JSON, what it really did. Without a GPU the same turns are burnt on one CPU. */
#include "cuda_spinner.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    "Exit status: 0 done, 1 the device or the memory failed, 2 called wrongly.\n";

enum { EXIT_USAGE = 2, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

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
    bool may_use_gpu;
    bool may_use_cpu;
} duty_options;

typedef struct {
    bool gpu;
    cuda_spinner spinner; /* on the CPU: error says why, if no CPU was asked for */
    void *host_memory;    /* NULL: none */
} duty_device;

typedef struct {
    int64_t wall_ns;
    int64_t busy_ns;
} duty_truth;

static int64_t now_ns(void) {
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void sleep_until(int64_t deadline_ns) {
    const struct timespec t = {.tv_sec = (time_t)(deadline_ns / NS_PER_S),
                               .tv_nsec = (long)(deadline_ns % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

/* The numbers that the command line takes, each with its limits: all cycles together fit in int64_t
 * nanoseconds. */
static const struct {
    const char *name;
    size_t slot;
    int64_t least;
    int64_t most;
} numbers[] = {
    {"busy-ms", offsetof(duty_options, busy_ms), 0, 3600000},
    {"idle-ms", offsetof(duty_options, idle_ms), 0, 3600000},
    {"cycles", offsetof(duty_options, cycles), 1, 1000000},
    {"vram-mib", offsetof(duty_options, vram_mib), 0, 16777216},
    {"blocks", offsetof(duty_options, blocks), 1, 2147483647},
    {"threads", offsetof(duty_options, threads), 1, 1024},
};
enum { NUMBER_COUNT = sizeof numbers / sizeof numbers[0] };

static void set_number(duty_options *options, size_t i, const char *text) {
    char *end = NULL;
    errno = 0;
    intmax_t value = strtoimax(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < numbers[i].least ||
        value > numbers[i].most) {
        (void)fprintf(stderr,
                      "duty: --%s: '%s' is not a whole number from %" PRId64 " to %" PRId64 "\n",
                      numbers[i].name, text, numbers[i].least, numbers[i].most);
        exit(EXIT_USAGE);
    }
    const int64_t stored = value;
    memcpy((char *)options + numbers[i].slot, &stored, sizeof stored);
}

static void set_device(duty_options *options, const char *name) {
    options->may_use_gpu = strcmp(name, "cpu") != 0;
    options->may_use_cpu = strcmp(name, "gpu") != 0;
    if (options->may_use_gpu && options->may_use_cpu && strcmp(name, "auto") != 0) {
        (void)fprintf(stderr, "duty: --device: '%s' is none of gpu, cpu, auto\n", name);
        exit(EXIT_USAGE);
    }
}

static _Noreturn void refuse(const char *why) {
    (void)fprintf(stderr, "duty: %s; see duty --help\n", why);
    exit(EXIT_USAGE);
}

/* Ends the process if the options are wrong. */
static duty_options parse_options(int argc, char **argv) {
    enum { DEVICE = NUMBER_COUNT, HELP };
    duty_options options = {
        .busy_ms = -1, .idle_ms = -1, .threads = 256, .may_use_gpu = true, .may_use_cpu = true};
    struct option known[NUMBER_COUNT + 3] = {{0}};
    for (int i = 0; i < NUMBER_COUNT; i++) {
        known[i] = (struct option){numbers[i].name, required_argument, NULL, i};
    }
    known[DEVICE] = (struct option){"device", required_argument, NULL, DEVICE};
    known[HELP] = (struct option){"help", no_argument, NULL, HELP};
    int found = 0;
    while ((found = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (found == HELP) {
            (void)fputs(help, stdout);
            exit(0);
        } else if (found == DEVICE) {
            set_device(&options, optarg);
        } else if (found >= 0 && found < NUMBER_COUNT) {
            set_number(&options, (size_t)found, optarg);
        } else {
            exit(EXIT_USAGE); /* getopt_long has said why */
        }
    }
    if (optind < argc) {
        refuse("every argument has a name");
    }
    if (options.busy_ms < 0 || options.idle_ms < 0 || options.cycles == 0) {
        refuse("--busy-ms, --idle-ms and --cycles are needed");
    }
    if (options.busy_ms + options.idle_ms == 0) {
        refuse("--busy-ms and --idle-ms cannot both be 0");
    }
    return options;
}

static bool hold_host_memory(duty_device *device, size_t bytes) {
    device->host_memory = malloc(bytes);
    if (device->host_memory == NULL) {
        (void)snprintf(device->spinner.error, sizeof device->spinner.error,
                       "no %zu bytes of host memory", bytes);
        return false;
    }
    memset(device->host_memory, 1, bytes);
    return true;
}

/* False: spinner.error says what failed. */
static bool open_device(duty_device *device, duty_options *options) {
    const size_t bytes = (size_t)options->vram_mib << 20;
    *device = (duty_device){0};
    cuda_outcome outcome = CUDA_ABSENT;
    if (options->may_use_gpu) {
        outcome = cuda_spinner_open(&device->spinner);
    }
    if (outcome == CUDA_ABSENT && options->may_use_cpu) {
        return bytes == 0 || hold_host_memory(device, bytes);
    }
    if (outcome != CUDA_READY) {
        return false;
    }
    device->gpu = true;
    if (options->blocks == 0) {
        options->blocks = 2 * (int64_t)device->spinner.multiprocessors;
    }
    return bytes == 0 || cuda_spinner_hold(&device->spinner, bytes);
}

static bool close_device(duty_device *device) {
    free(device->host_memory);
    device->host_memory = NULL;
    return cuda_spinner_close(&device->spinner);
}

/* Keeps the device busy until then, to within rest_ns. */
static bool stay_busy(duty_device *device, const duty_options *options, int64_t until_ns) {
    for (int64_t left = until_ns - now_ns(); left >= rest_ns; left = until_ns - now_ns()) {
        const int64_t slice = left < slice_ns ? left : slice_ns;
        if (!device->gpu) {
            for (const int64_t end = now_ns() + slice; now_ns() < end;) {
            }
        } else if (!cuda_spinner_run(&device->spinner, (unsigned int)options->blocks,
                                     (unsigned int)options->threads, (uint64_t)slice)) {
            return false;
        }
    }
    return true;
}

/* All deadlines count from the first moment, so that small delays do not add up. */
static bool run_cycles(duty_device *device, const duty_options *options, duty_truth *truth) {
    const int64_t period_ns = (options->busy_ms + options->idle_ms) * NS_PER_MS;
    const int64_t start = now_ns();
    *truth = (duty_truth){0};
    for (int64_t i = 0; i < options->cycles; i++) {
        const int64_t cycle_start = start + i * period_ns;
        const int64_t before = now_ns();
        if (!stay_busy(device, options, cycle_start + options->busy_ms * NS_PER_MS)) {
            return false;
        }
        truth->busy_ns += options->busy_ms == 0 ? 0 : now_ns() - before;
        sleep_until(cycle_start + period_ns);
    }
    truth->wall_ns = now_ns() - start;
    return true;
}

static void print_string(const char *name, const char *text) {
    (void)printf("\"%s\": \"", name);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            (void)printf("\\%c", *c);
        } else if ((unsigned char)*c < ' ') {
            (void)printf("\\u%04x", (unsigned int)(unsigned char)*c);
        } else {
            (void)putchar(*c);
        }
    }
    (void)fputs("\", ", stdout);
}

/* False: stdout could not be written. */
static bool print_truth(const duty_device *device, const duty_options *options,
                        const duty_truth *truth) {
    (void)putchar('{');
    print_string("device", device->gpu ? "gpu" : "cpu");
    if (device->gpu) {
        print_string("name", device->spinner.name);
    } else if (options->may_use_gpu) {
        print_string("why_cpu", device->spinner.error);
    }
    const double wall_s = (double)truth->wall_ns / NS_PER_S;
    const double busy_s = (double)truth->busy_ns / NS_PER_S;
    (void)printf("\"cycles\": %" PRId64 ", \"wall_s\": %.4f, \"busy_s\": %.4f, "
                 "\"duty_pct\": %.2f, \"vram_mib\": %" PRId64 ", \"host_mib\": %" PRId64,
                 options->cycles, wall_s, busy_s, 100 * busy_s / wall_s,
                 device->gpu ? options->vram_mib : 0, device->gpu ? 0 : options->vram_mib);
    if (device->gpu) {
        (void)printf(", \"multiprocessors\": %d, \"blocks\": %" PRId64 ", \"threads\": %" PRId64,
                     device->spinner.multiprocessors, options->blocks, options->threads);
    }
    (void)puts("}");
    return fflush(stdout) == 0 && ferror(stdout) == 0;
}

int main(int argc, char **argv) {
    duty_options options = parse_options(argc, argv);
    duty_device device;
    duty_truth truth;
    bool done = open_device(&device, &options) && run_cycles(&device, &options, &truth);
    done = close_device(&device) && done;
    if (!done) {
        (void)fprintf(stderr, "duty: %s\n", device.spinner.error);
        return EXIT_FAILURE;
    }
    if (!print_truth(&device, &options, &truth)) {
        perror("duty: stdout");
        return EXIT_FAILURE;
    }
    return 0;
}
