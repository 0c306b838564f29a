#include "check_cgroup.h"

#include "cgroup_own.h"
#include "file.h"
#include "proc_reader.h"
#include "sampler.h"
#include "task.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char own_group[] =
    "run the task in a group of its own: a container, a Slurm step or a systemd scope";

/* A child enters, as the command would; its errors are the answer. */
static void try_to_enter(const probe_cgroup_own *own, int errors[PROBE_OWN_COUNT]) {
    int ends[2];
    probe_task_groups groups = {0};
    memcpy(groups.procs, own->procs, sizeof groups.procs);
    memcpy(groups.errors, errors, sizeof groups.errors);
    pid_t pid = pipe(ends) == 0 ? fork() : -1;
    if (pid == 0) {
        probe_task_enter(&groups);
        ssize_t n = write(ends[1], groups.errors, sizeof groups.errors);
        _exit(n != sizeof groups.errors);
    }
    int code = errno;
    bool told = pid > 0 && read(ends[0], errors, sizeof groups.errors) == sizeof groups.errors;
    for (size_t i = 0; !told && i < PROBE_OWN_COUNT; i++) {
        errors[i] = pid < 0 ? code : ECHILD;
    }
    if (pid > 0) {
        (void)waitpid(pid, NULL, 0);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Makes the groups that a wrapper would make, and enters them. */
static void open_own(probe_check_cgroup_state *state, const probe_check_config *config) {
    probe_cgroup_own *own = &state->own;
    int errors[PROBE_OWN_COUNT] = {0};
    probe_cgroup_own_open(own, config->proc_root, config->fs_root);
    (void)snprintf(state->made, sizeof state->made, "%s",
                   own->parent[PROBE_OWN_MEMORY]); /* close forgets it */
    if (own->active) {
        try_to_enter(own, errors);
        state->entered = probe_cgroup_own_entered(own, errors);
    }
}

static void open_reader(probe_check_cgroup_state *state, const probe_check_config *config) {
    if (config->cgroup_mode == PROBE_CGROUP_OWN && state->own.active) {
        probe_cgroup_open_own(&state->reader, &state->own.paths);
    } else {
        (void)probe_cgroup_open(&state->reader, config->proc_root, config->fs_root, "self",
                                &state->error);
    }
}

void probe_check_cgroup_open(probe_check_cgroup_state *state, const probe_check_config *config) {
    bool own = config->cgroup_mode == PROBE_CGROUP_OWN;
    probe_host host;
    *state = (probe_check_cgroup_state){0};
    if (!own) {
        open_reader(state, config);
    }
    open_own(state, config);
    if (own) {
        open_reader(state, config);
    }
    probe_host_read(config->proc_root, &host);
    probe_cgroup_settle(&state->reader, host.mem_total_kib * 1024);
    if (!(own && state->own.active) && state->reader.last.valid != 0) {
        state->shared =
            probe_sampler_why_shared(&state->reader, config->proc_root, PROBE_SCOPE_DESCENDANTS);
    }
    probe_cgroup_get(&state->reader, &state->reading);
    probe_cgroup_close(&state->reader);
    probe_cgroup_own_forget(&state->own);
}

/* Its notes begin with the block's name. */
static const char *own_note(const probe_cgroup_own *own) {
    static const char block[] = "cgroup: ";
    const char *note = own->notes[0];
    return strncmp(note, block, sizeof block - 1) == 0 ? note + sizeof block - 1 : note;
}

static void check_own(probe_check_list *list, const probe_check_cgroup_state *state) {
    char detail[PROBE_CHECK_DETAIL];
    const char *note = own_note(&state->own);
    if (!state->entered) {
        probe_check_miss(list, "cgroup", "own", note,
                         "let gpu-probe write to its control group: as root with a writable "
                         "/sys/fs/cgroup, or with systemd's Delegate=memory");
        return;
    }
    if (note[0] == '\0') {
        (void)snprintf(detail, sizeof detail, "by --cgroup own, below %.180s", state->made);
        note = detail;
    }
    probe_check_pass(list, "cgroup", "own",
                     state->own.paths.version == 2 ? "cgroup_v2" : "cgroup_v1", note);
}

static bool between(probe_cgroup_key key, probe_cgroup_key first, probe_cgroup_key last) {
    return key >= first && key <= last;
}

typedef struct {
    const char *reason, *next_step;
} explanation;

static explanation explain_psi(const probe_check_config *config, const probe_cgroup_reader *reader,
                               probe_cgroup_key key) {
    char pressure[PATH_MAX];
    bool off =
        probe_path_join(pressure, sizeof pressure, config->proc_root, "pressure/cpu") != PROBE_OK ||
        access(pressure, F_OK) != 0;
    if (off) {
        return (explanation){"the kernel's pressure stall information (PSI) is off", NULL};
    }
    if (reader->paths.unified[0] == '\0') {
        return (explanation){"only the host's root group, or no cgroup v2 tree, tells it here",
                             "give the task a cgroup v2 group of its own"};
    }
    if (key == PROBE_CG_CPU_PSI_FULL) {
        return (explanation){"kernels before 5.13 do not tell it for the CPU", NULL};
    }
    return (explanation){"this group has no readable pressure file", NULL};
}

static explanation explain(const probe_check_config *config, const probe_cgroup_reader *reader,
                           probe_cgroup_key key) {
    const probe_cgroup_paths *paths = &reader->paths;
    if (between(key, PROBE_CG_CPU_PSI_SOME, PROBE_CG_IO_PSI_FULL)) {
        return explain_psi(config, reader, key);
    }
    if (between(key, PROBE_CG_IO_READ_BYTES, PROBE_CG_IO_WRITE_OPS)) {
        return paths->version == 1
                   ? (explanation){"cgroup v1 counts no block I/O; proc counts the task's own",
                                   NULL}
                   : (explanation){"the io controller is not delegated to this group",
                                   "let the engine or systemd delegate it: Delegate=io"};
    }
    if (between(key, PROBE_CG_CPU_USAGE_USEC, PROBE_CG_CPU_SYSTEM_USEC)) {
        return (explanation){"only the host's root group counts CPU time; proc has the task's own",
                             NULL};
    }
    if (key == PROBE_CG_CPU_QUOTA || key == PROBE_CG_CPU_PERIOD ||
        between(key, PROBE_CG_CPU_NR_THROTTLED, PROBE_CG_CPU_THROTTLED_USEC)) {
        return (explanation){"no cpu controller in this group or above it, so no CPU limit either",
                             NULL};
    }
    if (key == PROBE_CG_MEMORY_OOM_KILLS) {
        return (explanation){"this kernel does not count OOM kills here", NULL};
    }
    return (explanation){"the group's memory files cannot be read", NULL};
}

/* Why a trace would have no cgroup block although there is a group. False: it would have one. */
static bool is_left_out(const probe_check_cgroup_state *state, const probe_check_config *config,
                        char *reason, size_t size, const char **next_step) {
    *next_step = NULL;
    if (config->cgroup_mode == PROBE_CGROUP_OFF) {
        (void)snprintf(reason, size, "left out: --cgroup off");
        return true;
    }
    if (config->cgroup_mode == PROBE_CGROUP_OWN && state->own.active && !state->entered) {
        (void)snprintf(reason, size, "left out: %s", own_note(&state->own));
        return true;
    }
    if (state->shared == NULL || config->cgroup_mode == PROBE_CGROUP_SHARED) {
        return false;
    }
    (void)snprintf(reason, size, "left out: the group is not the task's own (%s)", state->shared);
    *next_step = state->entered ? "--cgroup own gives the task one, --cgroup shared writes this one"
                                : "--cgroup shared writes this one";
    return true;
}

/* True: there is one to be read. */
static bool check_group(probe_check_list *list, const probe_check_cgroup_state *state,
                        const probe_check_config *config) {
    static const char mount_proc[] = "mount /proc in this container";
    const probe_error *error = &state->error;
    const char *next_step;
    char text[2 * PROBE_CHECK_DETAIL];
    if (state->reader.paths.version == 0 && error->detail[0] != '\0') {
        (void)snprintf(text, sizeof text, "not found: %s: %s",
                       error->what == NULL ? "control group" : error->what, error->detail);
        probe_check_miss(list, "cgroup", "group", text, mount_proc);
        return false;
    }
    if (state->reader.paths.version == 0) {
        probe_check_miss(list, "cgroup", "group",
                         "only the host's root group, or no control group with memory figures, is "
                         "visible",
                         own_group);
        return false;
    }
    if (is_left_out(state, config, text, sizeof text, &next_step)) {
        probe_check_miss(list, "cgroup", "group", text, next_step);
        return false;
    }
    (void)snprintf(text, sizeof text, "%s%.170s",
                   state->shared != NULL ? "shared: its memory figures include others'; " : "",
                   state->reader.paths.memory);
    probe_check_pass(list, "cgroup", "group",
                     state->reading.version == 2 ? "cgroup_v2" : "cgroup_v1", text);
    return true;
}

void probe_check_cgroup(probe_check_list *list, const probe_check_cgroup_state *state,
                        const probe_check_config *config) {
    const probe_cgroup_reading *reading = &state->reading;
    bool told = check_group(list, state, config);
    check_own(list, state);
    for (int i = 0; i < PROBE_CG_COUNT; i++) {
        probe_cgroup_key key = (probe_cgroup_key)i;
        const char *name = probe_cgroup_key_name(key);
        if (!told) {
            probe_check_miss(list, "cgroup", name, "no group is read: see cgroup.group", NULL);
        } else if ((reading->valid >> i & 1U) != 0) {
            bool sampled = key == PROBE_CG_MEMORY_PEAK && reading->peak_sampled;
            probe_check_pass(list, "cgroup", name,
                             reading->version == 2 ? "cgroup_v2" : "cgroup_v1",
                             sampled ? "sampled: this kernel has no memory.peak" : NULL);
        } else {
            explanation e = explain(config, &state->reader, key);
            probe_check_miss(list, "cgroup", name, e.reason, e.next_step);
        }
    }
}
