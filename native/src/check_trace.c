#include "check_trace.h"

#include "file.h"
#include "trace.h"
#include "trace_file.h"
#include "trace_place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static void report_copy(probe_check_list *list, const probe_trace_place *place,
                        const probe_error *error) {
    char reason[PROBE_CHECK_DETAIL];
    if (place->config.copy_to == NULL) {
        return;
    }
    if (error->status == PROBE_OK) {
        probe_check_pass(list, "trace", "copy", "file_system", place->config.copy_to);
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
                        const probe_error *error, bool copied) {
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
        if (copied) {
            probe_check_pass(list, "trace", "instead", "copy", place->config.copy_to);
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

void probe_check_trace(probe_check_list *list, const probe_check_config *config) {
    probe_trace_place place = {0};
    char fusion[PATH_MAX], apart[PATH_MAX], run_id[33];
    probe_trace_make_run_id(run_id);
    probe_trace_place_config wanted = {
        .trace_file = config->trace_file,
        .copy_to = config->copy_to,
        .run_id = run_id,
        .proc_root = config->proc_root,
        .may_nest = true,
    };
    bool tried_apart =
        config->trace_file == NULL &&
        probe_path_join(fusion, sizeof fusion, config->workdir, ".fusion") == PROBE_OK &&
        is_missing(fusion) && set_apart(apart, config->workdir);
    wanted.workdir = tried_apart ? apart : config->workdir;
    bool made_copy = config->copy_to != NULL && is_missing(config->copy_to);
    probe_trace_place_open(&place, &wanted);
    if (tried_apart) {
        name_real_path(&place, config->workdir);
    }
    probe_error error = place.error, copy_error = place.copy_error;
    if (error.status == PROBE_OK && !place.nested) {
        try_to_write(&place.file, &error);
    }
    if (place.copy.directory >= 0) {
        try_to_write(&place.copy, &copy_error);
    }
    bool copied = place.copy.directory >= 0 && copy_error.status == PROBE_OK;
    report_file(list, &place, &error, copied);
    if (config->timeline && error.status == PROBE_OK && !place.nested) {
        report_timeline(list, &place);
    }
    report_copy(list, &place, &copy_error);
    probe_trace_place_close(&place);
    if (tried_apart) {
        remove_apart(apart);
    }
    if (made_copy) {
        (void)rmdir(config->copy_to);
    }
}
