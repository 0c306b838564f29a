/* Groups made for a task, in a directory that is no cgroup filesystem: names, decisions, notes. The
 * kernel's part is tested on live groups by the integration tests. */
#include "cgroup_fixture.h"
#include "cgroup_own.h"
#include "cgroup_remove.h"
#include "check.h"

#include "file.h"
#include "proc_reader.h"
#include <dirent.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static probe_cgroup_own own;

static void names_are_read_back(void) {
    char name[PROBE_CGROUP_NAME_SIZE];
    probe_cgroup_maker maker = {.pid = 41, .start_ticks = 123456, .pid_ns = 4026531836};
    probe_cgroup_maker read = {0};
    probe_cgroup_maker_name(&maker, name);
    CHECK_STR(name, "gpu-probe.41.123456.4026531836");
    CHECK(probe_cgroup_maker_parse(name, &read));
    CHECK_INT(read.pid, 41);
    CHECK_INT(read.start_ticks, 123456);
    CHECK_INT(read.pid_ns, 4026531836);
    maker = (probe_cgroup_maker){.pid = 2147483647, UINT64_MAX, UINT64_MAX};
    probe_cgroup_maker_name(&maker, name);
    CHECK(probe_cgroup_maker_parse(name, &read));
    CHECK(read.start_ticks == UINT64_MAX);
    static const char *const others[] = {"gpu-probe",
                                         "gpu-probe.",
                                         "gpu-probe.1.2",
                                         "gpu-probe.1.2.3.4",
                                         "gpu-probe.a.2.3",
                                         "gpu-probe.01.2.3",
                                         "gpu-probe. 1.2.3",
                                         "gpu-probe.0.2.3",
                                         "gpu-probe.-1.2.3",
                                         "gpu-probe.1.2.3x",
                                         "gpu-probe.1.2.3 ",
                                         "xgpu-probe.1.2.3",
                                         "gpu-probe.4294967297.2.3",
                                         "gpu-probe.1.99999999999999999999.3",
                                         ""};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        CHECK(!probe_cgroup_maker_parse(others[i], &read));
    }
}

static void a_maker_has_ended_only_when_that_is_certain(void) {
    probe_cgroup_maker self;
    CHECK(probe_cgroup_maker_self("/proc", &self));
    CHECK_INT(self.pid, getpid());
    CHECK(self.start_ticks > 0 && self.pid_ns > 0);
    CHECK(!probe_cgroup_maker_ended(&self, "/proc", &self));
    probe_cgroup_maker earlier = self; /* the pid was used again */
    earlier.start_ticks--;
    CHECK(probe_cgroup_maker_ended(&earlier, "/proc", &self));
    CHECK(!probe_cgroup_maker_ended(&earlier, "/nowhere", &self)); /* it is there: who is it? */
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    siginfo_t info;
    CHECK_INT(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    probe_proc_stat stat;
    CHECK_INT(probe_proc_read_stat("/proc", pid, &stat), PROBE_OK);
    probe_cgroup_maker child = {.pid = pid, stat.start_ticks, self.pid_ns};
    CHECK(probe_cgroup_maker_ended(&child, "/proc", &self)); /* a zombie */
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    CHECK(probe_cgroup_maker_ended(&child, "/proc", &self));
    CHECK(probe_cgroup_maker_ended(&child, "/nowhere", &self));
    child.pid_ns++;
    CHECK(!probe_cgroup_maker_ended(&child, "/proc", &self)); /* its pid means nothing here */
}

static void make_group(const char *parent, const probe_cgroup_maker *maker) {
    char name[PROBE_CGROUP_NAME_SIZE];
    char path[PATH_MAX];
    probe_cgroup_maker_name(maker, name);
    (void)snprintf(path, sizeof path, "%s/%s", parent, name);
    CHECK_INT(mkdir(path, 0700), 0);
}

static int count_groups(const char *parent) {
    int count = 0;
    DIR *groups = opendir(parent);
    for (const struct dirent *entry; groups != NULL && (entry = readdir(groups)) != NULL;) {
        count += strncmp(entry->d_name, "gpu-probe", 9) == 0;
    }
    CHECK(groups != NULL && closedir(groups) == 0);
    return count;
}

static void only_stale_groups_are_removed(void) {
    char parent[] = "/tmp/probe_test_own_XXXXXX";
    char path[PATH_MAX];
    probe_cgroup_maker self;
    CHECK(mkdtemp(parent) != NULL);
    CHECK(probe_cgroup_maker_self("/proc", &self));
    probe_cgroup_maker stale = self, foreign = self;
    stale.start_ticks--;
    foreign.pid_ns++;
    make_group(parent, &self);
    make_group(parent, &stale);
    make_group(parent, &foreign);
    (void)snprintf(path, sizeof path, "%s/gpu-probe.by-hand", parent);
    CHECK_INT(mkdir(path, 0700), 0);
    probe_cgroup_remove_stale(parent, "/proc", &self);
    CHECK_INT(count_groups(parent), 3);
    probe_cgroup_maker_name(&stale, path);
    CHECK_INT(probe_cgroup_remove(parent, path), 0); /* gone already */
    probe_cgroup_maker_name(&self, path);
    CHECK_INT(probe_cgroup_remove(parent, path), 0);
    CHECK_INT(count_groups(parent), 2);
    probe_cgroup_remove_stale("/nowhere", "/proc", &self);
    (void)snprintf(path, sizeof path, "rm -r '%s'", parent);
    run(path);
}

static void leftovers_are_written_to_the_parent(void) {
    fixture f = {.root = "/tmp/probe_test_own_XXXXXX"};
    char path[PATH_MAX];
    char text[64] = "";
    CHECK(mkdtemp(f.root) != NULL);
    path_in(&f, "group", path, sizeof path);
    CHECK_INT(mkdir(path, 0700), 0);
    write_file(&f, "cgroup.procs", "");
    write_file(&f, "group/cgroup.procs", "77\n0\n78\n");
    CHECK_INT(probe_cgroup_remove(f.root, "group"), ENOTEMPTY); /* here, the list is a real file */
    path_in(&f, "cgroup.procs", path, sizeof path);
    CHECK_INT(probe_file_read(AT_FDCWD, path, text, sizeof text, NULL), PROBE_OK);
    CHECK_STR(text, "7778"); /* one write each; 0 would be ourselves */
    remove_copy(&f);
}

/* Opens at a copy of a case; its proc/self is ours, which tells the start time and the namespace.
 */
static void open_own_at(fixture *f) {
    char proc_root[300];
    char command[2048];
    (void)snprintf(proc_root, sizeof proc_root, "%s/proc", f->root);
    (void)snprintf(command, sizeof command,
                   "mkdir -p '%s/self/ns' && cp /proc/%d/stat '%s/self/' && : > '%s/self/ns/pid'",
                   proc_root, (int)getpid(), proc_root, proc_root);
    run(command);
    probe_cgroup_own_open(&own, proc_root, f->root);
}

static void check_refused(const char *case_name, const char *why) {
    fixture f;
    char expected[256];
    copy_case(&f, case_name);
    open_own_at(&f);
    (void)snprintf(expected, sizeof expected,
                   "cgroup: the task has no group of its own, as with --cgroup auto: %s", why);
    CHECK_STR(own.notes[0], expected);
    CHECK_STR(own.notes[1], "");
    CHECK(!own.active);
    for (int i = 0; i < PROBE_OWN_COUNT; i++) {
        CHECK_INT(own.procs[i], -1);
    }
    probe_cgroup_own_close(&own);
    remove_copy(&f);
}

static void what_is_not_permitted_is_told(void) {
    check_refused("v2_outside_namespace", "the wrapper's group is not visible here");
    check_refused("v2_container", "the memory controller is not available in the wrapper's group");
    fixture f;
    copy_case(&f, "v2_container");
    delete_file(&f, "proc/self/mountinfo");
    open_own_at(&f);
    CHECK(strstr(own.notes[0], "/proc does not tell") != NULL);
    remove_copy(&f);
    copy_case(&f, "v1_docker");
    write_file(&f, GROUP "/memory/memory.use_hierarchy", "0\n");
    open_own_at(&f);
    CHECK(strstr(own.notes[0], "does not hand its limit down") != NULL);
    remove_copy(&f);
    copy_case(&f, "v1_docker"); /* where limits are handed down, something else fails here */
    write_file(&f, GROUP "/memory/memory.use_hierarchy", "1\n");
    open_own_at(&f);
    CHECK(own.notes[0][0] != '\0' && strstr(own.notes[0], "limit") == NULL);
    remove_copy(&f);
}

/* A controller is told by its whole name, wherever it stands in the list. */
static void a_controller_is_a_whole_word(void) {
    static const struct {
        const char *controllers;
        bool has_memory;
    } lists[] = {{"memory\n", true},   {"memory pids\n", true},
                 {"cpu memory", true}, {"cpu memory_x memory pids\n", true},
                 {"xmemory\n", false}, {"cpu memory_x pids\n", false}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        fixture f;
        copy_case(&f, "place_slurm_v2");
        write_file(&f,
                   GROUP "/system.slice/slurmstepd.scope/job_77/step_0/user/task_0"
                         "/cgroup.controllers",
                   lists[i].controllers);
        open_own_at(&f);
        bool refused = strstr(own.notes[0], "controller is not available") != NULL;
        CHECK_INT(refused, !lists[i].has_memory);
        probe_cgroup_own_close(&own);
        remove_copy(&f);
    }
}

/* In a directory that is no cgroup filesystem nobody fills a new group with files. */
static void a_group_without_figures_is_removed_again(void) {
    fixture f;
    char path[PATH_MAX];
    copy_case(&f, "place_slurm_v2");
    write_file(&f,
               GROUP "/system.slice/slurmstepd.scope/job_77/step_0/user/task_0"
                     "/cgroup.subtree_control",
               "memory pids\n");
    open_own_at(&f);
    CHECK(!own.active);
    CHECK(strstr(own.notes[0], "No such file or directory") != NULL);
    path_in(&f, GROUP "/system.slice/slurmstepd.scope/job_77/step_0/user/task_0", path,
            sizeof path);
    CHECK_INT(count_groups(path), 0);
    remove_copy(&f);
}

/* The files of a real group appear with it; here, none do, so that making one fails half-way. */
static void who_only_looks_takes_back_what_was_handed_down(bool others) {
    fixture f;
    char path[PATH_MAX];
    char text[64];
    copy_case(&f, "place_slurm_v2");
    const char *control = GROUP "/system.slice/slurmstepd.scope/job_77/step_0/user/task_0"
                                "/cgroup.subtree_control";
    write_file(&f, control, "pids\n");
    open_own_at(&f);
    path_in(&f, control, path, sizeof path);
    CHECK_INT(probe_file_read(AT_FDCWD, path, text, sizeof text, NULL), PROBE_OK);
    CHECK(strncmp(text, "+memory", 7) == 0);
    if (others) {
        char group[PATH_MAX];
        CHECK_INT(
            snprintf(group, sizeof group, "%.*s/other", (int)(strrchr(path, '/') - path), path) > 0,
            1);
        CHECK_INT(mkdir(group, 0755), 0);
    }
    probe_cgroup_own_forget(&own);
    CHECK_INT(probe_file_read(AT_FDCWD, path, text, sizeof text, NULL), PROBE_OK);
    CHECK(strncmp(text, others ? "+memory" : "-memory", 7) == 0);
    remove_copy(&f);
}

int main(void) {
    names_are_read_back();
    a_maker_has_ended_only_when_that_is_certain();
    only_stale_groups_are_removed();
    leftovers_are_written_to_the_parent();
    what_is_not_permitted_is_told();
    a_controller_is_a_whole_word();
    a_group_without_figures_is_removed_again();
    who_only_looks_takes_back_what_was_handed_down(false);
    who_only_looks_takes_back_what_was_handed_down(true);
    return check_failures();
}
