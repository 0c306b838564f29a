/* gpu-replay: a whole task on the mock driver in virtual time. The session is the helper's own and
 * the text is what the trace would say of it; only the clock is the test's. One JSON object comes
 * on stdout. */
#include "clock.h"
#include "json.h"
#include "nvml_session.h"
#include "timeline_feed.h"
#include "trace.h"
#include "trace_gpu.h"
#include "trace_gpu_probe.h"

#include <dlfcn.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *library;
    const char *timeline; /* file for the timeline; NULL: none */
    int64_t scenario_ns;  /* the scenario's age at the start of the task */
    int64_t duration_ns;  /* of the task */
    int64_t interval_ns;
    const char *gpus;      /* as --gpus */
    const char *proc_root; /* a directory that stands for /proc */
    pid_t task;            /* 0: this process */
} replay_options;

/* The mock's virtual clock; the session's clock has no argument to carry it. */
static void (*mock_set_time)(long long scenario_ns);
static long long (*mock_time)(int clock);

static int64_t virtual_clock_ns(clockid_t id) {
    return mock_time((int)id);
}

static void fail(const char *what, const char *detail) {
    (void)fprintf(stderr, "gpu-replay: %s: %s\n", what, detail);
    exit(2);
}

static int64_t to_ns(const char *name, const char *text, double unit_ns) {
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1e6)) {
        fail("not a number from 0 to 1000000", name);
    }
    return llround(value * unit_ns);
}

static const struct option known[] = {
    {"library", required_argument, NULL, 'l'},
    {"duration", required_argument, NULL, 'd'},
    {"start", required_argument, NULL, 's'},
    {"interval", required_argument, NULL, 'i'},
    {"timeline", required_argument, NULL, 't'},
    {"gpus", required_argument, NULL, 'g'},
    {"proc", required_argument, NULL, 'p'},
    {"task", required_argument, NULL, 'k'},
    {NULL, 0, NULL, 0},
};

static replay_options parse(int argc, char **argv) {
    replay_options options = {
        .duration_ns = -1, .interval_ns = PROBE_NS_PER_S, .proc_root = "/proc"};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'l':
            options.library = optarg;
            break;
        case 'd':
            options.duration_ns = to_ns("--duration", optarg, 1e9);
            break;
        case 's':
            options.scenario_ns = to_ns("--start", optarg, 1e9);
            break;
        case 'i':
            options.interval_ns = to_ns("--interval", optarg, 1e6);
            break;
        case 't':
            options.timeline = optarg;
            break;
        case 'g':
            options.gpus = optarg;
            break;
        case 'p':
            options.proc_root = optarg;
            break;
        case 'k':
            options.task = (pid_t)to_ns("--task", optarg, 1);
            break;
        default:
            exit(2);
        }
    }
    if (options.library == NULL || options.duration_ns < 0 || options.interval_ns == 0 ||
        optind != argc) {
        fail("usage", "--library PATH --duration SECONDS [--start SECONDS] [--interval MS] "
                      "[--timeline FILE] [--gpus LIST] [--proc DIR] [--task PID]");
    }
    return options;
}

/* ISO C has no conversion from an object pointer to a function pointer. */
static void find(void *library, const char *name, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fail("not the mock driver, it lacks", name);
    }
    memcpy(function, &symbol, size);
}

static void enter_virtual_time(const replay_options *options) {
    void *library = dlopen(options->library, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fail("the library cannot be loaded", dlerror());
    }
    find(library, "nvmlMockSetTime", &mock_set_time, sizeof mock_set_time);
    find(library, "nvmlMockTime", &mock_time, sizeof mock_time);
    mock_set_time(options->scenario_ns);
}

/* Waits, in virtual time. A delay of the driver's may have gone beyond already. */
static void wait_until(const replay_options *options, const nvml_session *session, int64_t at_ns) {
    if (session->config.start_ns + at_ns > virtual_clock_ns(CLOCK_MONOTONIC)) {
        mock_set_time(options->scenario_ns + at_ns);
    }
}

/* The life of the helper, from the start of the task to its end. */
static void run(const replay_options *options, nvml_session *session, probe_timeline_feed *feed) {
    nvml_session_open(session, &(nvml_session_config){
                                   .library = options->library,
                                   .start_ns = virtual_clock_ns(CLOCK_MONOTONIC),
                                   .interval_ns = options->interval_ns,
                                   .clock_ns = virtual_clock_ns,
                                   .seed = 1,
                                   .gpus = options->gpus,
                                   .proc_root = options->proc_root,
                                   .task = options->task > 0 ? options->task : getpid(),
                               });
    int64_t due_ns;
    while ((due_ns = nvml_session_due_ns(session)) < options->duration_ns) {
        wait_until(options, session, due_ns);
        nvml_session_tick(session);
        if (feed != NULL) {
            probe_timeline_feed_gpu(feed, &session->snapshot);
        }
    }
    wait_until(options, session, options->duration_ns);
    nvml_session_finish(session);
    nvml_session_finish_lists(session);
    if (feed != NULL) {
        probe_timeline_feed_gpu(feed, &session->snapshot);
    }
}

static void write_probe(probe_json *json, const probe_gpu_snapshot *gpu, int64_t realtime_ns) {
    const char *notes[2];
    int count = 0;
    probe_json_open(json, "probe", '{');
    if (gpu->count > 0) {
        probe_trace_write_gpu_coverage(json, gpu, realtime_ns);
    }
    probe_json_open(json, "sources", '{');
    if (gpu->count > 0) {
        probe_trace_write_gpu_sources(json, gpu, realtime_ns);
    }
    probe_json_close(json, '}');
    probe_json_open(json, "scope", '{');
    probe_trace_write_gpu_scope(json, gpu);
    probe_json_close(json, '}');
    probe_trace_write_gpu_mock(json, gpu);
    if (gpu->note[0] != '\0') {
        notes[count++] = gpu->note;
    }
    if (gpu->scope_note[0] != '\0') {
        notes[count++] = gpu->scope_note;
    }
    probe_trace_write_notes(json, notes, count);
    probe_json_close(json, '}');
}

static void print(const probe_gpu_snapshot *gpu, int64_t realtime_ns) {
    static char text[PROBE_TRACE_SIZE];
    probe_json json;
    size_t length = 0;
    probe_json_begin(&json, text, sizeof text);
    probe_json_open(&json, NULL, '{');
    if (gpu->count > 0) {
        probe_trace_write_gpu(&json, gpu, realtime_ns, true);
    }
    write_probe(&json, gpu, realtime_ns);
    probe_json_close(&json, '}');
    if (probe_json_end(&json, &length) != PROBE_OK || fwrite(text, 1, length, stdout) != length ||
        fflush(stdout) != 0) {
        fail("cannot be written", "the result");
    }
}

static void save_timeline(const replay_options *options, const probe_timeline_feed *feed,
                          const probe_gpu_snapshot *gpu) {
    const probe_timeline_origin origin = {.run_id = "replay", .gpu = gpu};
    size_t length = 0, size = probe_timeline_json_size(&feed->timeline);
    char *text = malloc(size);
    if (text == NULL ||
        probe_timeline_to_json(&feed->timeline, &origin, text, size, &length) != PROBE_OK) {
        fail("does not fit its buffer", "the timeline");
    }
    FILE *file = fopen(options->timeline, "w");
    if (file == NULL || fwrite(text, 1, length, file) != length || fclose(file) != 0) {
        fail("cannot be written", options->timeline);
    }
    free(text);
}

int main(int argc, char **argv) {
    static nvml_session session;
    const replay_options options = parse(argc, argv);
    enter_virtual_time(&options);
    probe_timeline_feed *feed = options.timeline == NULL ? NULL : probe_timeline_feed_open();
    if (options.timeline != NULL && feed == NULL) {
        fail("no memory", "the timeline");
    }
    run(&options, &session, feed);
    print(&session.snapshot, options.duration_ns);
    if (feed != NULL) {
        save_timeline(&options, feed, &session.snapshot);
        probe_timeline_feed_close(feed);
    }
    return 0;
}
