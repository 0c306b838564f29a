#include "options.h"

#include "clock.h"
#include "gpu_request.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char probe_help[] =
    "usage: gpu-probe [options] [--] COMMAND [ARG...]\n"
    "       gpu-probe --check [--json]\n"
    "\n"
    "Runs COMMAND unchanged, measures what it uses, and writes <workdir>/.fusion/trace.json.\n"
    "Ranks and array elements write .fusion/trace.<job>.<array>.<rank>.<host>.json; a trace of\n"
    "another program, or of a wrapper that still runs, is never overwritten. Within a wrapper "
    "that\n"
    "writes the same trace, gpu-probe just executes COMMAND. A trace that cannot be written goes "
    "to\n"
    "$TMPDIR/gpu-probe-UID (or below /tmp), and one line on stderr says so.\n"
    "\n"
    "  --workdir DIR         where .fusion/trace.json goes (default: the current directory)\n"
    "  --trace-file FILE     write the trace to FILE instead\n"
    "  --copy-to DIR         also write it to DIR, as <run id>.trace.json (default: "
    "GPU_PROBE_COPY_TO)\n"
    "  --interval TIME       time between samples, with a unit: 250ms, 1s (default: 1s; at least "
    "10ms);\n"
    "                        stretched to stay within the budget; GPUs are asked once a second at "
    "most\n"
    "  --budget SHARE        of one CPU, for taking samples: 1%, off (default: 0.05%)\n"
    "  --cgroup WHICH        which control group the cgroup block is about (default: auto)\n"
    "                        auto: the one we run in, left out if it is not COMMAND's alone\n"
    "                        own: one made for COMMAND, if permitted, else as auto\n"
    "                        shared: the one we run in, in any case;  off: none\n"
    "  --gpus WHICH          whose figures the gpu block has (default: GPU_PROBE_GPUS, else "
    "auto)\n"
    "                        auto: those that CUDA_VISIBLE_DEVICES leaves to COMMAND; none; all\n"
    "                        or NVML's indices and UUIDs, or the beginnings of them: 0,2\n"
    "  --summary             print six lines on stderr when COMMAND has ended\n"
    "                        (default on a terminal, unless a workflow engine runs us)\n"
    "  --no-summary          do not\n"
    "  --timeline            also write timeline.json beside the trace: at most 1024 means and "
    "maxima\n"
    "                        of each metric over time\n"
    "  --quiet               no summary, and no line on stderr when a signal, an OOM kill or a "
    "time\n"
    "                        limit ended COMMAND, or its trace went elsewhere. For that line a "
    "copy of stderr stays open while\n"
    "                        COMMAND keeps its own\n"
    "  --check               with these options, say what can be measured here and what not, and\n"
    "                        why; run nothing\n"
    "  --json                with --check: as JSON\n"
    "  --nvml-library FILE   load NVML from FILE (default: GPU_PROBE_NVML_LIBRARY, else the "
    "driver's own)\n"
    "  --version             print the version\n"
    "  --help                print this\n"
    "\n"
    "Exit status: COMMAND's own; a signal that killed COMMAND kills gpu-probe too (as PID 1: "
    "128+n);\n"
    "125 gpu-probe was called wrongly, 126 COMMAND cannot be executed, 127 COMMAND was not "
    "found.\n";

bool probe_parse_duration(const char *text, int64_t *ns) {
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
    if (*text < '0' || *text > '9') {
        return false; /* no sign, no blank, no NaN */
    }
    char *end = NULL;
    double number = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].unit) == 0 && number * units[i].ns < 9e18) {
            *ns = (int64_t)(number * units[i].ns);
            return true;
        }
    }
    return false;
}

bool probe_parse_budget(const char *text, int64_t *ppm) {
    if (strcmp(text, "off") == 0) {
        *ppm = 0;
        return true;
    }
    if (*text < '0' || *text > '9') {
        return false; /* no sign, no blank, no NaN */
    }
    char *end = NULL;
    double percent = strtod(text, &end);
    *ppm = percent <= 100 ? (int64_t)(percent * 1e4 + 0.5) : 0;
    return strcmp(end, "%") == 0 && *ppm >= 10;
}

/* If argument is "name VALUE" or "name=VALUE", returns the value and moves on past it. Sets missing
 * when the value is not there. */
static const char *value_of(char ***argv, const char *name, bool *missing) {
    const char *argument = **argv;
    size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0 ||
        (argument[length] != '\0' && argument[length] != '=')) {
        return NULL;
    }
    const char *value = argument[length] == '=' ? argument + length + 1 : *++*argv;
    if (value == NULL || *value == '\0' || strcmp(value, "--") == 0) {
        *missing = true;
        return NULL;
    }
    ++*argv;
    return value;
}

static void fail(probe_options *options, const char *format, const char *what) {
    options->action = PROBE_USAGE_ERROR;
    (void)snprintf(options->error, sizeof options->error, format, what);
}

static void set_interval(probe_options *options, const char *value) {
    if (!probe_parse_duration(value, &options->interval_ns)) {
        fail(options, "--interval: '%.80s' is not a time with a unit, such as 250ms or 1s", value);
    } else if (options->interval_ns < 10 * PROBE_NS_PER_MS) {
        fail(options, "--interval: '%.80s' is too short: at least 10ms", value);
    }
}

static void set_cgroup_mode(probe_options *options, const char *value) {
    static const char *const names[] = {
        [PROBE_CGROUP_AUTO] = "auto",
        [PROBE_CGROUP_OWN] = "own",
        [PROBE_CGROUP_SHARED] = "shared",
        [PROBE_CGROUP_OFF] = "off",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(value, names[i]) == 0) {
            options->cgroup_mode = (probe_cgroup_mode)i;
            return;
        }
    }
    fail(options, "--cgroup: '%.80s' is none of auto, own, shared and off", value);
}

/* One option that takes a value. True: there was one, and argv is past it (or an error is set). */
static bool parse_value(probe_options *options, char ***argv) {
    const char *const names[] = {"--workdir", "--trace-file",   "--interval", "--cgroup",
                                 "--copy-to", "--nvml-library", "--gpus",     "--budget"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bool missing = false;
        const char *value = value_of(argv, names[i], &missing);
        if (missing) {
            fail(options, "%s needs a value", names[i]);
            return true;
        }
        if (value == NULL) {
            continue;
        }
        switch (i) {
        case 0:
            options->workdir = value;
            break;
        case 1:
            options->trace_file = value;
            break;
        case 2:
            set_interval(options, value);
            break;
        case 3:
            set_cgroup_mode(options, value);
            break;
        case 4:
            options->copy_to = value;
            break;
        case 5:
            options->nvml_library = value;
            break;
        case 6:
            options->gpus = value;
            break;
        default:
            if (!probe_parse_budget(value, &options->budget_ppm)) {
                fail(options,
                     "--budget: '%.80s' is neither a share of one CPU, such as 0.05%%, nor off",
                     value);
            }
        }
        return true;
    }
    return false;
}

/* One option that stands alone. False: it is none of these. */
static bool parse_flag(probe_options *options, const char *argument) {
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
        options->action = PROBE_SHOW_HELP;
    } else if (strcmp(argument, "--version") == 0) {
        options->action = PROBE_SHOW_VERSION;
    } else if (strcmp(argument, "--summary") == 0 || strcmp(argument, "--no-summary") == 0) {
        options->summary = argument[2] == 's';
        options->summary_given = true;
    } else if (strcmp(argument, "--quiet") == 0) {
        options->quiet = true;
    } else if (strcmp(argument, "--timeline") == 0) {
        options->timeline = true;
    } else if (strcmp(argument, "--check") == 0) {
        options->check = true;
    } else if (strcmp(argument, "--json") == 0) {
        options->json = true;
    } else {
        return false;
    }
    return true;
}

/* What can only be judged when all options are known. */
static void conclude(probe_options *options) {
    if (options->gpus != NULL && !probe_gpu_option_valid(options->gpus)) {
        const char *from = options->gpus == getenv("GPU_PROBE_GPUS") ? "GPU_PROBE_GPUS" : "--gpus";
        options->action = PROBE_USAGE_ERROR;
        (void)snprintf(options->error, sizeof options->error,
                       "%s: '%.80s' is none of auto, none, all and a list of indices and UUIDs, "
                       "such as 0,2 or GPU-8932f9",
                       from, options->gpus);
        return;
    }
    if (options->check) {
        options->action = PROBE_CHECK;
        if (options->command[0] != NULL) {
            fail(options, "--check runs no command; '%.100s' is too much", options->command[0]);
        }
    } else if (options->json) {
        fail(options, "%s", "--json goes with --check");
    } else if (options->command[0] == NULL) {
        fail(options, "%s", "no command given; usage: gpu-probe [options] [--] COMMAND [ARG...]");
    }
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

void probe_options_parse(probe_options *options, char **argv) {
    *options = (probe_options){.workdir = ".", .interval_ns = PROBE_NS_PER_S, .budget_ppm = 500};
    options->nvml_library = variable("GPU_PROBE_NVML_LIBRARY");
    options->copy_to = variable("GPU_PROBE_COPY_TO");
    options->gpus = variable("GPU_PROBE_GPUS");
    argv++;
    while (options->action == PROBE_RUN && *argv != NULL && (*argv)[0] == '-') {
        if (strcmp(*argv, "--") == 0) {
            argv++;
            break;
        }
        if (parse_flag(options, *argv)) {
            argv++;
        } else if (!parse_value(options, &argv)) {
            fail(options, "unknown option '%.100s'; see gpu-probe --help", *argv);
        }
    }
    options->command = argv;
    if (options->action == PROBE_RUN) {
        conclude(options);
    }
}
