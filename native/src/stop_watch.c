#include "stop_watch.h"

#include "clock.h"
#include "descriptors.h"
#include "proc_reader.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static bool is_stopped(pid_t pid) {
    probe_proc_stat stat;
    return probe_proc_read_stat("/proc", pid, &stat) == PROBE_OK &&
           (stat.state == 'T' || stat.state == 't');
}

/* All signals are blocked, as in the parent: of those to the group or from the terminal, none is
 * for this process. */
static _Noreturn void watch(pid_t wrapper, pid_t command) {
    static const int64_t shortest_ns = 10 * PROBE_NS_PER_MS, longest_ns = 200 * PROBE_NS_PER_MS;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0); /* a SIGSTOP to the group would stop it too */
    probe_descriptors_keep(NULL, 0);
    for (int64_t pause_ns = shortest_ns; getppid() == wrapper;) {
        const struct timespec pause = {.tv_nsec = pause_ns};
        (void)nanosleep(&pause, NULL);
        pause_ns = pause_ns < longest_ns / 2 ? 2 * pause_ns : longest_ns;
        /* Never before it has stopped: that would discard the signal. */
        if (!is_stopped(command) && is_stopped(wrapper)) {
            (void)kill(wrapper, SIGCONT);
            pause_ns = shortest_ns;
        }
    }
    _exit(0);
}

pid_t probe_stop_watch_start(pid_t command) {
    probe_proc_stat stat;
    pid_t wrapper = getpid();
    if (probe_proc_read_stat(probe_proc_by_number("/proc"), command, &stat) != PROBE_OK ||
        stat.ppid != wrapper) {
        return 0;
    }
    pid_t pid = fork();
    if (pid == 0) {
        watch(wrapper, command);
    }
    return pid > 0 ? pid : 0;
}
