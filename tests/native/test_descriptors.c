/* What is left open when the command has its own copies. */
#include "check.h"
#include "descriptors.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST = 3, LAST = 60 };

static bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

static bool is_null(int fd) {
    struct stat it, null;
    return fstat(fd, &it) == 0 && stat("/dev/null", &null) == 0 && it.st_rdev == null.st_rdev;
}

/* In a child, which opens all up to LAST on something that is not /dev/null, and keeps some. Its
 * exit status is the number of descriptors that are not as they should be. */
static int wrong_ones(const int *kept, size_t count) {
    int zero = open("/dev/zero", O_RDWR | O_CLOEXEC), wrong = 0;
    for (int fd = 0; fd <= LAST; fd++) {
        (void)dup2(zero, fd);
    }
    if (zero > LAST) {
        (void)close(zero);
    }
    probe_descriptors_keep(kept, count);
    for (int fd = FIRST; fd <= LAST + 8; fd++) {
        bool keep = false;
        for (size_t i = 0; i < count; i++) {
            keep = keep || kept[i] == fd;
        }
        wrong += is_open(fd) != keep || (keep && is_null(fd));
    }
    for (int fd = 0; fd < FIRST; fd++) {
        wrong += !is_null(fd);
    }
    return wrong;
}

static void check_kept(const int *kept, size_t count) {
    pid_t pid = fork();
    if (pid == 0) {
        _exit(wrong_ones(kept, count));
    }
    int status = -1;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
}

static void nothing_is_kept_that_is_not_named(void) {
    check_kept(NULL, 0);
    check_kept((const int[]){-1, -1}, 2); /* a file that could not be opened */
}

static void those_that_are_named_stay_in_any_order(void) {
    check_kept((const int[]){40, 7, -1, 20}, 4);
    check_kept((const int[]){LAST, LAST - 1, FIRST, FIRST + 1}, 4); /* at the ends, side by side */
    check_kept((const int[]){9, 9, 10}, 3);                         /* named twice */
}

int main(void) {
    nothing_is_kept_that_is_not_named();
    those_that_are_named_stay_in_any_order();
    return check_failures();
}
