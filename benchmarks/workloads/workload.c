#include "workload.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_NUMBERS = 16 };

_Noreturn void workload_refuse(const char *program, const char *why) {
    (void)fprintf(stderr, "%s: %s; see %s --help\n", program, why, program);
    exit(EXIT_USAGE);
}

static void set_number(const char *program, const workload_number *number, const char *text,
                       void *options) {
    char *end = NULL;
    errno = 0;
    intmax_t value = strtoimax(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < number->least ||
        value > number->most) {
        (void)fprintf(stderr,
                      "%s: --%s: '%s' is not a whole number from %" PRId64 " to %" PRId64 "\n",
                      program, number->name, text, number->least, number->most);
        exit(EXIT_USAGE);
    }
    const int64_t stored = value;
    memcpy((char *)options + number->slot, &stored, sizeof stored);
}

static void set_device(const char *program, workload_device *device, const char *name) {
    device->may_use_gpu = strcmp(name, "cpu") != 0;
    device->may_use_cpu = strcmp(name, "gpu") != 0;
    if (device->may_use_gpu && device->may_use_cpu && strcmp(name, "auto") != 0) {
        (void)fprintf(stderr, "%s: --device: '%s' is none of gpu, cpu, auto\n", program, name);
        exit(EXIT_USAGE);
    }
}

void workload_parse(const workload_command *c, int argc, char **argv, void *options) {
    enum { DEVICE = MOST_NUMBERS, HELP };
    struct option known[MOST_NUMBERS + 3] = {{0}};
    int count = 0;
    for (; count < c->number_count; count++) {
        known[count] = (struct option){c->numbers[count].name, required_argument, NULL, count};
    }
    known[count++] = (struct option){"device", required_argument, NULL, DEVICE};
    known[count] = (struct option){"help", no_argument, NULL, HELP};
    int found = 0;
    while ((found = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (found == HELP) {
            (void)fputs(c->help, stdout);
            exit(workload_end_line(c->program) ? 0 : EXIT_FAILURE);
        } else if (found == DEVICE) {
            set_device(c->program, (workload_device *)((char *)options + c->device_slot), optarg);
        } else if (found >= 0 && found < c->number_count) {
            set_number(c->program, &c->numbers[found], optarg, options);
        } else {
            exit(EXIT_USAGE); /* getopt_long has said why */
        }
    }
    if (optind < argc) {
        workload_refuse(c->program, "every argument has a name");
    }
}

static int64_t read_clock(clockid_t clock) {
    struct timespec t = {0};
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t workload_now_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

int64_t workload_epoch_ms(void) {
    return read_clock(CLOCK_REALTIME) / NS_PER_MS;
}

void workload_sleep_until(int64_t deadline_ns) {
    const struct timespec t = {.tv_sec = (time_t)(deadline_ns / NS_PER_S),
                               .tv_nsec = (long)(deadline_ns % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

void workload_print_string(const char *name, const char *text) {
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
    (void)putchar('"');
}

bool workload_end_line(const char *program) {
    if (putchar('\n') == EOF || fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)fprintf(stderr, "%s: stdout: %s\n", program, strerror(errno));
        return false;
    }
    return true;
}
