/* Whose process it is that a driver names by a number. */
#include "kinship.h"
#include "proc_fixture.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASK = 100, NOBODY = 4200001 /* larger than any number that the kernel gives */ };

static void process(int pid, int parent) {
    char name[64], text[256];
    (void)snprintf(name, sizeof name, "%d/stat", pid);
    (void)snprintf(text, sizeof text,
                   "%d (a (b) c) S %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid,
                   parent);
    put(name, text);
}

static void the_task_is_the_process_and_its_descendants(void) {
    CHECK_INT(probe_kinship(root, TASK, TASK), PROBE_KIN_OWN);
    CHECK_INT(probe_kinship(root, 11, TASK), PROBE_KIN_OWN);
    CHECK_INT(probe_kinship(root, 12, TASK), PROBE_KIN_OWN);
    CHECK_INT(probe_kinship(root, 11, 1), PROBE_KIN_OWN); /* as PID 1 of a container */
}

static void everybody_else_is_a_stranger(void) {
    CHECK_INT(probe_kinship(root, 1, TASK), PROBE_KIN_STRANGER);
    CHECK_INT(probe_kinship(root, 21, TASK), PROBE_KIN_STRANGER);
    CHECK_INT(probe_kinship(root, TASK, 11), PROBE_KIN_STRANGER); /* a parent is no child */
}

static void a_number_without_a_process_is_nobodys(void) {
    CHECK_INT(probe_kinship(root, NOBODY, TASK), PROBE_KIN_UNKNOWN);
    CHECK_INT(probe_kinship(root, 0, TASK), PROBE_KIN_UNKNOWN);
    CHECK_INT(probe_kinship(root, -5, TASK), PROBE_KIN_UNKNOWN);
}

/* As root every signal is permitted: a child gives that up, and then asks for process 1, which is
 * hidden from it and root's. */
static void a_hidden_process_of_another_user_is_a_stranger(void) {
    enum { FOREIGN_USER = 54321 };
    char nothing[] = "/tmp/kinship-XXXXXX";
    CHECK(mkdtemp(nothing) != NULL);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && setuid(FOREIGN_USER) != 0) {
            _exit(9);
        }
        _exit((int)probe_kinship(nothing, 1, TASK));
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), PROBE_KIN_STRANGER);
    CHECK_INT(rmdir(nothing), 0);
}

static void hidden_ancestors_are_not_the_tasks(void) {
    process(31, NOBODY);
    CHECK_INT(probe_kinship(root, 31, TASK), PROBE_KIN_STRANGER);
}

static void a_circle_ends(void) {
    process(41, 42);
    process(42, 41);
    CHECK_INT(probe_kinship(root, 41, TASK), PROBE_KIN_STRANGER);
}

static void names(const char *namespace) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/self/ns/pid", root);
    (void)unlink(path);
    make_directories(path);
    CHECK_INT(symlink(namespace, path), 0);
}

static void numbers_are_as_good_as_the_driver_and_the_namespace(void) {
    CHECK_INT(probe_pid_view_of(root, "580.126.09"), PROBE_PIDS_OURS); /* not known: not trusted */
    names("pid:[4026531836]");
    CHECK_INT(probe_pid_view_of(root, "390.157"), PROBE_PIDS_ALL);
    names("pid:[4026532198]");
    CHECK_INT(probe_pid_view_of(root, "580.126.09"), PROBE_PIDS_OURS);
    CHECK_INT(probe_pid_view_of(root, "535.113.01"), PROBE_PIDS_OURS);
    CHECK_INT(probe_pid_view_of(root, "535.104.12"), PROBE_PIDS_FOREIGN);
    CHECK_INT(probe_pid_view_of(root, "525.147.05"), PROBE_PIDS_FOREIGN);
    CHECK_INT(probe_pid_view_of(root, "535"), PROBE_PIDS_FOREIGN);
    CHECK_INT(probe_pid_view_of(root, ""), PROBE_PIDS_FOREIGN);
}

int main(void) {
    make_root();
    process(1, 0);
    process(TASK, 1);
    process(11, TASK);
    process(12, 11);
    process(21, 1);
    the_task_is_the_process_and_its_descendants();
    everybody_else_is_a_stranger();
    a_number_without_a_process_is_nobodys();
    a_hidden_process_of_another_user_is_a_stranger();
    hidden_ancestors_are_not_the_tasks();
    a_circle_ends();
    numbers_are_as_good_as_the_driver_and_the_namespace();
    remove_root();
    return check_failures();
}
