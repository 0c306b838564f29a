/* What the GPU workloads share: options, clocks, and what they print. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000, MIB_SHIFT = 20 };

/* Exit statuses; 0: done, 1: the device, the memory or the output failed. */
enum {
    EXIT_USAGE = 2,
    EXIT_NO_DEVICE = 69, /* sysexits.h: a service is unavailable */
};

/* A number that the command line takes: --name N, stored as int64_t at the slot of the options. */
typedef struct {
    const char *name;
    size_t slot;
    int64_t least;
    int64_t most;
} workload_number;

/* --device gpu, cpu or auto. */
typedef struct {
    bool may_use_gpu;
    bool may_use_cpu;
} workload_device;

typedef struct {
    const char *program;
    const char *help;
    const workload_number *numbers;
    int number_count;   /* at most 16 */
    size_t device_slot; /* of a workload_device */
} workload_command;

/* Fills the options in. Ends the process: 0 after --help, EXIT_USAGE if the options are wrong. */
void workload_parse(const workload_command *command, int argc, char **argv, void *options);

/* Says what is wrong with the options, and ends the process. */
_Noreturn void workload_refuse(const char *program, const char *why);

/* CLOCK_MONOTONIC. */
int64_t workload_now_ns(void);

/* CLOCK_REALTIME, ms since 1970. */
int64_t workload_epoch_ms(void);

void workload_sleep_until(int64_t deadline_ns);

/* Prints "name": "text", with the text escaped. */
void workload_print_string(const char *name, const char *text);

/* Ends the line on stdout. False, with a line on stderr: it could not be written. */
bool workload_end_line(const char *program);

#endif
