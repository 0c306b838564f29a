#include "cgroup_fixture.h"
#include "check.h"
#include "lines.h"

#include <errno.h>

static void a_host_without_groups_is_absent(void) {
    fixture f;
    probe_error error = {0};
    CHECK_INT(open_case(&f, "no_such_case"), PROBE_E_ABSENT);
    CHECK_INT(f.now.version, 0);
    CHECK_INT(probe_cgroup_open(&f.reader, "/nowhere", "", "self", &error), PROBE_E_ABSENT);
    CHECK_INT(error.status, PROBE_E_ABSENT);
    CHECK_INT(error.sys_errno, ENOENT);
    CHECK_STR(error.detail, "/nowhere/self/cgroup");
}

static void odd_mounts_are_resolved(void) {
    fixture f;
    CHECK_INT(open_case(&f, "v2_escaped"), PROBE_OK);
    check_directory(&f, f.reader.paths.memory, "sys/fs/control group/payload");
    CHECK_VALUE(&f, MEMORY_LIMIT, 1073741824);
    CHECK_INT(open_case(&f, "v2_mount_above"), PROBE_OK);
    check_directory(&f, f.reader.paths.memory, GROUP "/batch/task");
    CHECK(!f.shared);
    CHECK_INT(open_case(&f, "v2_outside_namespace"), PROBE_OK);
    check_directory(&f, f.reader.paths.memory, GROUP);
    CHECK(f.shared); /* the mount point's group is not the process's own */
}

static void the_last_of_stacked_mounts_counts(void) {
    fixture f;
    copy_case(&f, "v2_container");
    write_file(&f, "proc/self/cgroup", "0::/box/a\n");
    write_file(&f, "proc/self/mountinfo",
               "31 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
               "broken line\n"
               "32 31 0:27 /box/a /sys/fs/cgroup rw - cgroup2  rw\n");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    check_directory(&f, f.reader.paths.memory, GROUP);
    remove_copy(&f);
}

static void a_climbing_path_does_not_leave_its_mount(void) {
    fixture f;
    copy_case(&f, "v2_container");
    write_file(&f, "proc/self/cgroup", "0::/../fs\n");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    check_directory(&f, f.reader.paths.memory, GROUP);
    write_file(&f, "proc/self/cgroup", "0::/gone (deleted)\n");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    check_directory(&f, f.reader.paths.memory, GROUP);
    remove_copy(&f);
}

static void a_group_without_a_mount_is_absent(void) {
    fixture f;
    copy_case(&f, "v2_container");
    write_file(&f, "proc/self/mountinfo", "23 22 0:21 / /proc rw - proc proc rw\n");
    CHECK_INT(open_at_root(&f), PROBE_E_ABSENT);
    CHECK_INT(f.now.version, 0);
    remove_copy(&f);
}

/* The mount table, when it is asked, knows of no group. */
static void hide_mounts(const fixture *f) {
    write_file(f, "proc/self/mountinfo", "23 22 0:21 / /proc rw - proc proc rw\n");
}

static void list_us(const fixture *f, const char *group, bool with_us) {
    char name[256], list[64] = "1\n";
    (void)snprintf(name, sizeof name, GROUP "/%s/cgroup.procs", group);
    if (with_us) {
        (void)snprintf(list, sizeof list, "1\n%d\n", (int)getpid());
    }
    write_file(f, name, list);
}

static void where_everybody_mounts_a_group_that_lists_us_is_ours(void) {
    static const char *const groups[] = {"memory/batch/uid_1000/job_7", "cpuacct/acct/a",
                                         "cpu/pool/p1", "unified/user.slice/session-3.scope"};
    for (size_t missing = 0; missing <= 4; missing++) {
        fixture f;
        copy_case(&f, "v1_hybrid");
        hide_mounts(&f);
        for (size_t i = 0; i < 4; i++) {
            list_us(&f, groups[i], i != missing);
        }
        CHECK_INT(open_at_root(&f), missing == 4 ? PROBE_OK : PROBE_E_ABSENT);
        if (missing == 4) {
            check_directory(&f, f.reader.paths.memory, GROUP "/memory/batch/uid_1000/job_7");
            check_directory(&f, f.reader.paths.cpuacct, GROUP "/cpuacct/acct/a");
            check_directory(&f, f.reader.paths.unified,
                            GROUP "/unified/user.slice/session-3.scope");
            check_directory(&f, f.reader.paths.memory_mount, GROUP "/memory");
        }
        remove_copy(&f);
    }
}

static void of_the_hosts_root_no_list_is_read(void) {
    fixture f;
    copy_case(&f, "v1_hybrid");
    hide_mounts(&f);
    write_file(&f, "proc/self/cgroup", "9:memory:/batch/uid_1000/job_7\n8:cpuacct:/\n");
    list_us(&f, "memory/batch/uid_1000/job_7", true);
    CHECK_INT(open_at_root(&f), PROBE_OK);
    CHECK_INT(f.reader.paths.cpuacct[0], '\0'); /* the host's CPU time is not ours */
    delete_file(&f, GROUP "/cpuacct/release_agent");
    CHECK_INT(open_at_root(&f), PROBE_E_ABSENT); /* a namespace's root, which does not list us */
    remove_copy(&f);
}

static void a_namespaces_root_that_lists_us_is_ours(void) {
    fixture f;
    copy_case(&f, "v2_container");
    hide_mounts(&f);
    list_us(&f, ".", true);
    CHECK_INT(open_at_root(&f), PROBE_OK);
    check_directory(&f, f.reader.paths.memory, GROUP);
    check_directory(&f, f.reader.paths.memory_mount, GROUP);
    list_us(&f, ".", false);
    CHECK_INT(open_at_root(&f), PROBE_E_ABSENT);
    remove_copy(&f);
}

static void more_groups_than_there_is_room_for_are_absent(void) {
    static char text[64 * 1024];
    fixture f;
    copy_case(&f, "v2_container");
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "0::/", 4);
    write_file(&f, "proc/self/cgroup", text);
    CHECK_INT(open_at_root(&f), PROBE_E_ABSENT);
    remove_copy(&f);
}

static void long_lines_are_left_out(void) {
    static char text[3 * PROBE_LINE_MAX];
    static probe_lines lines;
    fixture f;
    char path[512];
    copy_case(&f, "v2_root");
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "first\n\n", 7);
    memcpy(text + sizeof text - 6, "\nlast", 5);
    write_file(&f, "text", text);
    path_in(&f, "text", path, sizeof path);
    CHECK_INT(probe_lines_open(&lines, path), PROBE_OK);
    CHECK_STR(probe_lines_next(&lines), "first");
    CHECK_STR(probe_lines_next(&lines), "");
    CHECK_STR(probe_lines_next(&lines), "last");
    CHECK(probe_lines_next(&lines) == NULL);
    CHECK(probe_lines_next(&lines) == NULL);
    CHECK(!lines.failed);
    probe_lines_close(&lines);
    CHECK_INT(probe_lines_open(&lines, f.root), PROBE_OK);
    CHECK(probe_lines_next(&lines) == NULL); /* EISDIR */
    CHECK(lines.failed);
    probe_lines_close(&lines);
    remove_copy(&f);
    CHECK_INT(probe_lines_open(&lines, path), PROBE_E_SYSCALL);
}

/* Longer than one read, so that a number is cut in two somewhere. */
static void long_member_lists_are_read_whole(void) {
    static char list[32768];
    fixture f;
    copy_case(&f, "v2_container");
    size_t used = 0;
    list[used++] = '1';
    list[used++] = '\n';
    while (used < sizeof list - 16) {
        memcpy(list + used, "41\n40\n", 6);
        used += 6;
    }
    write_file(&f, GROUP "/cgroup.procs", list);
    CHECK_INT(open_at_root(&f), PROBE_OK);
    CHECK(!f.shared);
    memcpy(list + used, "977\n", 5);
    write_file(&f, GROUP "/cgroup.procs", list);
    CHECK_INT(open_at_root(&f), PROBE_OK);
    CHECK(f.shared);
    delete_file(&f, GROUP "/cgroup.procs");
    CHECK_INT(open_at_root(&f), PROBE_OK);
    CHECK(f.shared); /* not known to be ours alone */
    remove_copy(&f);
}

int main(void) {
    a_host_without_groups_is_absent();
    odd_mounts_are_resolved();
    the_last_of_stacked_mounts_counts();
    a_climbing_path_does_not_leave_its_mount();
    a_group_without_a_mount_is_absent();
    where_everybody_mounts_a_group_that_lists_us_is_ours();
    of_the_hosts_root_no_list_is_read();
    a_namespaces_root_that_lists_us_is_ours();
    more_groups_than_there_is_room_for_are_absent();
    long_lines_are_left_out();
    long_member_lists_are_read_whole();
    return check_failures();
}
