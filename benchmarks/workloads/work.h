/* Pieces of work of a known amount. What fails ends the process, with a line on stderr. */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>
#include <sys/types.h>

enum { WORK_FAILED = 3 }; /* exit status */
enum { WORK_PAGE = 4096, WORK_MIB = 1 << 20 };

typedef struct {
    int64_t cpu_usec;
    int64_t voluntary;
    int64_t involuntary;
} work_usage;

/* Ends this process with errno's reason. */
_Noreturn void work_fail(const char *what);

/* What this process and all that it has waited for have used. */
work_usage work_used(void);

/* Prints one line of JSON, of this process, what it has waited for, and others, and ends this
 * process. The line has always the same length, so that bytes can be compared between runs. The
 * kernel counts the switch away from a dying process as a voluntary one: it is added. */
_Noreturn void work_report(const work_usage *others, pid_t daemon_pid);

void work_sleep_ms(int64_t ms);

/* Uses the CPU until this process has had so much of it. */
void work_burn(int64_t usec);

/* Resident memory, the caller's until it gives it back, if ever. */
char *work_touch(int64_t mib);
void work_release(char *memory, int64_t mib);

pid_t work_fork(void);

/* Waits for a child. Ends this process if the child failed. */
void work_wait(pid_t pid);

#endif
