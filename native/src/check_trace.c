#include "check_trace.h"

#include "bounded.h"
#include "file.h"
#include "trace.h"
#include "trace_file.h"
#include "trace_place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How long a file system may take for its answer. */
static const int wait_ms = 2000;

static void explain_name(probe_check_list *list, const probe_trace_place *place) {
    const char *source = "process_id", *why = "the other names are taken; the process id differs "
                                              "from start to start";
    bool several = place->job.rank[0] != '\0' || place->job.array[0] != '\0';
    switch (place->level) {
    case PROBE_PLACE_PLAIN:
        source = place->config.trace_file != NULL ? "option" : "standard";
        why = place->config.trace_file != NULL ? "as --trace-file says"
                                               : "nobody else writes a trace here";
        break;
    case PROBE_PLACE_BESIDE:
        source = "beside";
        why = "the plain name is Fusion's, or another program's file has it";
        break;
    case PROBE_PLACE_RANK:
        source = several ? "rank" : "another_writer";
        why = several ? "one of several ranks or array elements"
                      : "another gpu-probe, which may still run, writes to the plain name";
        break;
    case PROBE_PLACE_UNIQUE:
        break;
    }
    probe_check_pass(list, "trace", "name", source, why);
}

static void report(probe_check_list *list, const probe_trace_place *place,
                   const probe_error *error) {
    char reason[2 * PROBE_CHECK_DETAIL];
    if (place->nested) {
        probe_check_miss(list, "trace", "file",
                         "a gpu-probe that this one runs in writes this trace: here it would only "
                         "execute COMMAND",
                         NULL);
    } else if (error->status == PROBE_OK) {
        probe_check_pass(list, "trace", "file", "file_system", place->file.path);
        explain_name(list, place);
    } else {
        (void)snprintf(reason, sizeof reason, "%s: %s: %s", error->what, strerror(error->sys_errno),
                       error->detail);
        probe_check_miss(list, "trace", "file", reason,
                         "name a directory that you can write to: --workdir DIR or --trace-file "
                         "FILE");
    }
}

/* What is tried, in memory that is shared with whoever tries it. */
typedef struct {
    probe_trace_place_config wanted;
    probe_trace_place place;
    probe_error error;
} attempt;

static int try_place(void *argument) {
    attempt *a = argument;
    char fusion[PATH_MAX];
    bool made = a->wanted.trace_file == NULL &&
                probe_path_join(fusion, sizeof fusion, a->wanted.workdir, ".fusion") == PROBE_OK &&
                access(fusion, F_OK) != 0;
    probe_trace_place_open(&a->place, &a->wanted);
    a->error = a->place.error;
    if (a->error.status == PROBE_OK && !a->place.nested) {
        /* A file of another name: a trace that is there is not ours to touch. */
        int code = probe_trace_file_stage(&a->place.file, "\n", 1, NULL);
        if (code != 0) {
            (void)probe_fail_detail(&a->error, PROBE_E_SYSCALL, code, "the trace cannot be written",
                                    a->place.file.path);
        } else if (unlinkat(a->place.file.directory, a->place.file.temporary, 0) != 0) {
            (void)probe_fail_detail(&a->error, PROBE_E_SYSCALL, errno,
                                    "a file cannot be replaced here", a->place.file.path);
        }
    }
    probe_trace_place_close(&a->place);
    if (made) {
        (void)rmdir(fusion);
    }
    return -1;
}

void probe_check_trace(probe_check_list *list, const probe_check_config *config) {
    char run_id[33];
    int none, code = 0;
    pid_t left;
    attempt *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (a == MAP_FAILED) {
        probe_check_miss(list, "trace", "file", strerror(errno), NULL);
        return;
    }
    probe_trace_make_run_id(run_id);
    a->wanted = (probe_trace_place_config){
        .workdir = config->workdir,
        .trace_file = config->trace_file,
        .run_id = run_id,
        .proc_root = config->proc_root,
        .pid = getpid(),
        .may_nest = true,
    };
    code = probe_bounded_run(try_place, a, NULL, 0, wait_ms, &none, &left);
    if (code == ETIMEDOUT) {
        probe_check_miss(list, "trace", "file", "the file system does not answer",
                         "name a directory of one that does: --workdir DIR or --trace-file FILE");
    } else if (code != 0) {
        probe_check_miss(list, "trace", "file", strerror(code), NULL);
    } else {
        report(list, &a->place, &a->error);
    }
    (void)munmap(a, sizeof *a);
}
