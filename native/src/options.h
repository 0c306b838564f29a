/* The command line of gpu-probe. */
#ifndef PROBE_OPTIONS_H
#define PROBE_OPTIONS_H

#include "cgroup_mode.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    PROBE_RUN,
    PROBE_CHECK,
    PROBE_SHOW_HELP,
    PROBE_SHOW_VERSION,
    PROBE_USAGE_ERROR
} probe_action;

typedef struct {
    probe_action action;
    const char *workdir;      /* never NULL for PROBE_RUN and PROBE_CHECK */
    const char *trace_file;   /* may be NULL */
    const char *copy_to;      /* may be NULL */
    const char *nvml_library; /* may be NULL */
    const char *gpus;         /* may be NULL; otherwise well-formed for PROBE_RUN and PROBE_CHECK */
    bool summary, summary_given;
    bool quiet;       /* no word of our own once the command runs */
    bool timeline;    /* timeline.json beside the trace */
    bool check, json; /* json: what --check finds, for programs */
    int64_t interval_ns;
    int64_t budget_ppm; /* of one CPU, for taking samples; 0: no limit */
    probe_cgroup_mode cgroup_mode;
    char **command;  /* NULL-terminated, within argv */
    char error[256]; /* for PROBE_USAGE_ERROR: what is wrong and what is right */
} probe_options;

/* Reads the options before the first argument that is none, or "--"; what follows is the command.
 * Environment: GPU_PROBE_COPY_TO, GPU_PROBE_GPUS, GPU_PROBE_NVML_LIBRARY. */
void probe_options_parse(probe_options *options, char **argv);

/* "250ms", "1s", "0.5s", "2m" as ns. False: no number, no unit, or out of range. */
bool probe_parse_duration(const char *text, int64_t *ns);

/* "0.05%" as 500 parts per million, "off" as 0. False: neither, or not within 0.001% and 100%. */
bool probe_parse_budget(const char *text, int64_t *ppm);

extern const char probe_help[];

#endif
