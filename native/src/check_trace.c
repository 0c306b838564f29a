#include "check_trace.h"

#include "file.h"
#include "trace.h"
#include "trace_file.h"
#include "trace_place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
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

void probe_check_trace(probe_check_list *list, const probe_check_config *config) {
    static probe_trace_place place;
    char fusion[PATH_MAX], run_id[33];
    probe_trace_make_run_id(run_id);
    const probe_trace_place_config wanted = {
        .workdir = config->workdir,
        .trace_file = config->trace_file,
        .run_id = run_id,
        .proc_root = config->proc_root,
        .may_nest = true,
    };
    bool made = config->trace_file == NULL &&
                probe_path_join(fusion, sizeof fusion, config->workdir, ".fusion") == PROBE_OK &&
                access(fusion, F_OK) != 0;
    probe_trace_place_open(&place, &wanted);
    probe_error error = place.error;
    if (error.status == PROBE_OK && !place.nested) {
        /* A file of another name: a trace that is there is not ours to touch. */
        int code = probe_trace_file_stage(&place.file, "\n", 1, NULL);
        if (code != 0) {
            (void)probe_fail_detail(&error, PROBE_E_SYSCALL, code, "the trace cannot be written",
                                    place.file.path);
        } else if (unlinkat(place.file.directory, place.file.temporary, 0) != 0) {
            (void)probe_fail_detail(&error, PROBE_E_SYSCALL, errno,
                                    "a file cannot be replaced here", place.file.path);
        }
    }
    report(list, &place, &error);
    probe_trace_place_close(&place);
    if (made) {
        (void)rmdir(fusion);
    }
}
