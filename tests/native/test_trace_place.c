/* Two that open one place at the same instant: each ends up with its lock, by which a wrapper
 * within it learns that it is not alone. The linker puts __wrap_flock in the place of the core's
 * flock: the other one has its exclusive lock for as long as a few of our attempts take. */
#include "check.h"
#include "trace_place.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { ATTEMPTS = 5 };

static char workdir[] = "/tmp/probe-place-XXXXXX";
static int other = -1, attempts;

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int __wrap_flock(int fd, int operation) {
    if (other >= 0 && ++attempts == ATTEMPTS) {
        CHECK_INT(__real_flock(other, LOCK_SH | LOCK_NB), 0);
    }
    return __real_flock(fd, operation);
}

static void open_place(probe_trace_place *place) {
    const probe_trace_place_config config = {.workdir = workdir,
                                             .run_id = "0123456789abcdef0123456789abcdef",
                                             .proc_root = "/proc",
                                             .may_nest = true};
    attempts = 0;
    probe_trace_place_open(place, &config);
    CHECK_INT(place->error.status, PROBE_OK);
}

static int open_directory(const probe_trace_place *place) {
    int fd = openat(place->file.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static bool is_locked(int directory) {
    bool free = __real_flock(directory, LOCK_EX | LOCK_NB) == 0;
    (void)__real_flock(directory, LOCK_UN);
    return !free;
}

int main(void) {
    static probe_trace_place place;
    CHECK(mkdtemp(workdir) != NULL);
    open_place(&place);
    int directory = open_directory(&place), latecomer = open_directory(&place);
    CHECK(is_locked(directory));
    probe_trace_place_close(&place);
    CHECK(!is_locked(directory));
    other = latecomer;
    CHECK_INT(__real_flock(other, LOCK_EX | LOCK_NB), 0);
    open_place(&place);
    CHECK_INT(attempts, ATTEMPTS);
    (void)close(latecomer);
    other = -1;
    CHECK(is_locked(directory));
    probe_trace_place_close(&place);
    CHECK(!is_locked(directory));
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r %s", workdir);
    CHECK_INT(system(command), 0);
    return check_failures();
}
