#include "check_trace.h"

#include "bounded.h"
#include "file.h"
#include "trace.h"
#include "trace_file.h"
#include "trace_place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Whether a file can be made and removed there: one of another name, since what is there is not
 * ours to touch. */
static void try_to_write(const probe_trace_file *file, probe_error *error) {
    int code = probe_trace_file_stage(file, "\n", 1, NULL);
    if (code != 0) {
        (void)probe_fail_detail(error, PROBE_E_SYSCALL, code, "the trace cannot be written",
                                file->path);
    } else if (unlinkat(file->directory, file->temporary, 0) != 0) {
        (void)probe_fail_detail(error, PROBE_E_SYSCALL, errno, "a file cannot be replaced here",
                                file->path);
    }
}

static void put_reason(char *reason, size_t size, const probe_error *error) {
    (void)snprintf(reason, size, "%s: %s: %.120s", error->what, strerror(error->sys_errno),
                   error->detail);
}

/* There is a copy, or none was asked for. */
static void report_copy(probe_check_list *list, const char *copy_to, const probe_error *error) {
    char reason[PROBE_CHECK_DETAIL];
    if (copy_to == NULL) {
        return;
    }
    if (error->status == PROBE_OK) {
        probe_check_pass(list, "trace", "copy", "file_system", copy_to);
    } else {
        put_reason(reason, sizeof reason, error);
        probe_check_miss(list, "trace", "copy", reason,
                         "name a directory that you can write to: --copy-to DIR");
    }
}

static void report_timeline(probe_check_list *list, const probe_trace_place *place) {
    probe_trace_file timeline;
    if (probe_trace_file_beside(&place->file, place->config.trace_file != NULL, &timeline) ==
        PROBE_OK) {
        probe_check_pass(list, "trace", "timeline", "file_system", timeline.path);
    } else {
        probe_check_miss(list, "trace", "timeline", "the name of its file is too long", NULL);
    }
}

static void report_file(probe_check_list *list, const probe_trace_place *place,
                        const probe_error *error, const char *copied_to) {
    char reason[PATH_MAX + PROBE_CHECK_DETAIL], instead[PATH_MAX];
    if (place->nested) {
        probe_check_miss(list, "trace", "file",
                         "a gpu-probe that this one runs in writes this trace: here it would only "
                         "execute COMMAND",
                         NULL);
    } else if (error->status == PROBE_OK) {
        probe_check_pass(list, "trace", "file", "file_system", place->file.path);
        explain_name(list, place);
    } else {
        put_reason(reason, sizeof reason, error);
        probe_check_miss(list, "trace", "file", reason,
                         "name a directory that you can write to: --workdir DIR or --trace-file "
                         "FILE");
        if (copied_to != NULL) {
            probe_check_pass(list, "trace", "instead", "copy", copied_to);
        } else if (probe_trace_place_rescue_directory(instead, sizeof instead)) {
            probe_check_pass(list, "trace", "instead", "temporary", instead);
        }
    }
}

static bool is_missing(const char *path) {
    return access(path, F_OK) != 0;
}

/* Where .fusion is missing, it is tried in a directory of our own: another wrapper may start to use
 * the real one at any time. False: there can be none, and no .fusion either. */
static bool set_apart(char apart[PATH_MAX], const char *workdir) {
    return probe_path_join(apart, PATH_MAX, workdir, ".gpu-probe-XXXXXX") == PROBE_OK &&
           mkdtemp(apart) != NULL;
}

static void remove_apart(const char *apart) {
    char fusion[PATH_MAX];
    if (probe_path_join(fusion, sizeof fusion, apart, ".fusion") == PROBE_OK) {
        (void)rmdir(fusion);
    }
    (void)rmdir(apart);
}

/* Where the trace would go, from where it was tried. */
static void name_real_path(probe_trace_place *place, const char *workdir) {
    char absolute[PATH_MAX];
    const char *directory = realpath(workdir, absolute) == NULL ? workdir : absolute;
    (void)snprintf(place->file.path, sizeof place->file.path, "%.*s/.fusion/%s",
                   PATH_MAX - (int)sizeof place->file.name - 16, directory, place->file.name);
}

/* What is tried, in memory that is shared with the child that tries it. */
typedef struct {
    probe_trace_place_config wanted;
    const char *copy_to;
    probe_trace_place place;
    probe_error error, copy_error;
    bool place_tried; /* the place has answered */
} attempt;

static void try_place(attempt *a) {
    char fusion[PATH_MAX], apart[PATH_MAX];
    const char *workdir = a->wanted.workdir;
    bool tried_apart = a->wanted.trace_file == NULL &&
                       probe_path_join(fusion, sizeof fusion, workdir, ".fusion") == PROBE_OK &&
                       is_missing(fusion) && set_apart(apart, workdir);
    a->wanted.workdir = tried_apart ? apart : workdir;
    probe_trace_place_open(&a->place, &a->wanted);
    a->place.config.workdir = a->wanted.workdir = workdir;
    if (tried_apart) {
        name_real_path(&a->place, workdir);
    }
    a->error = a->place.error;
    if (a->error.status == PROBE_OK && !a->place.nested) {
        try_to_write(&a->place.file, &a->error);
    }
    probe_trace_place_close(&a->place);
    if (tried_apart) {
        remove_apart(apart);
    }
}

static void try_copy(attempt *a) {
    char name[64];
    probe_trace_file copy;
    bool made = is_missing(a->copy_to);
    (void)snprintf(name, sizeof name, "%s.trace.json", a->wanted.run_id);
    if (probe_trace_file_open_in(&copy, a->copy_to, name, &a->copy_error) == PROBE_OK) {
        try_to_write(&copy, &a->copy_error);
    }
    probe_trace_file_close(&copy);
    if (made) {
        (void)rmdir(a->copy_to);
    }
}

static int try_both(void *argument) {
    attempt *a = argument;
    try_place(a);
    a->place_tried = true;
    if (a->copy_to != NULL) {
        try_copy(a);
    }
    return -1;
}

static void report(probe_check_list *list, const attempt *a, bool timeline) {
    bool copied = a->copy_to != NULL && a->copy_error.status == PROBE_OK;
    if (!a->place_tried) {
        probe_check_miss(list, "trace", "file", "the file system does not answer",
                         "name a directory of one that does: --workdir DIR or --trace-file FILE");
        return; /* the copy was not tried */
    }
    report_file(list, &a->place, &a->error, copied ? a->copy_to : NULL);
    if (timeline && a->error.status == PROBE_OK && !a->place.nested) {
        report_timeline(list, &a->place);
    }
    report_copy(list, a->copy_to, &a->copy_error);
}

void probe_check_trace(probe_check_list *list, const probe_check_config *config) {
    char run_id[33];
    int none;
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
    a->copy_to = config->copy_to;
    int code = probe_bounded_run(try_both, a, NULL, 0, wait_ms, &none, &left);
    if (code != 0 && code != ETIMEDOUT) {
        probe_check_miss(list, "trace", "file", strerror(code), NULL);
    } else {
        if (code != 0) {
            (void)probe_fail_detail(&a->copy_error, PROBE_E_SYSCALL, code,
                                    "the copy cannot be written", config->copy_to);
        }
        report(list, a, config->timeline);
    }
    (void)munmap(a, sizeof *a);
}
