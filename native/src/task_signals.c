#include "task_signals.h"

#include "clock.h"
#include "kinship.h"
#include "stop_watch.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void probe_signals_mask(int how, uint64_t set, uint64_t *old) {
    (void)syscall(SYS_rt_sigprocmask, how, &set, old, sizeof set);
}

int probe_signals_wait(int64_t deadline_ns, siginfo_t *info) {
    const uint64_t all = UINT64_MAX;
    for (;;) {
        int64_t left = deadline_ns - probe_clock_mono_ns();
        left = left > 0 ? left : 0;
        struct timespec timeout = {.tv_sec = left / PROBE_NS_PER_S,
                                   .tv_nsec = left % PROBE_NS_PER_S};
        long number = syscall(SYS_rt_sigtimedwait, &all, info, &timeout, sizeof all);
        if (number == SIGXCPU && info->si_code > 0) {
            continue; /* of the kernel: the time of this process is no news for the command */
        }
        if (number > 0) {
            return (int)number;
        }
        if (errno == EAGAIN) {
            return 0;
        }
    }
}

static uint64_t bit(int number) {
    return 1ULL << (number - 1);
}

/* A SIGCONT to the group, such as a shell's fg, has reached the command as well. */
static bool was_continued(const probe_task *task) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)task->pid, &info, WCONTINUED | WNOHANG) == 0 && info.si_pid != 0;
}

/* These come from the kernel when the terminal sends them (^C, ^\, ^Z, hangup, ...), and then to
 * the whole group. Others that the kernel sends, such as the alarm of a timer that was set before
 * exec, are meant for the command. */
static const uint64_t terminals_signals =
    1ULL << (SIGINT - 1) | 1ULL << (SIGQUIT - 1) | 1ULL << (SIGTSTP - 1) | 1ULL << (SIGHUP - 1) |
    1ULL << (SIGTTIN - 1) | 1ULL << (SIGTTOU - 1) | 1ULL << (SIGWINCH - 1) | 1ULL << (SIGCONT - 1);

/* A terminal that hangs up tells the leader of the session only. */
static bool reached_the_group(const siginfo_t *info) {
    bool to_the_leader = info->si_signo == SIGHUP || info->si_signo == SIGCONT;
    return (terminals_signals & bit(info->si_signo)) != 0 &&
           !(to_the_leader && getsid(0) == getpid());
}

/* A descendant in our process group, also one that has ended since: by kill(0, ...) the command has
 * the signal already, and by our pid, "the parent's", it was not meant for the command. As process
 * 1, that pid is how the task's main process is known to everybody. */
static bool from_the_task(const probe_task *task, const siginfo_t *info) {
    if (info->si_pid == task->pid) {
        return true;
    }
    return getpid() != 1 && info->si_pid > 0 && getpgid(info->si_pid) == getpgrp() &&
           probe_kinship("/proc", info->si_pid, getpid()) == PROBE_KIN_OWN;
}

/* As it came: with its sender, and the value that a sigqueue gave it, where the kernel lets us. */
static void pass_on(const probe_task *task, const siginfo_t *info) {
    bool queued = info->si_code < 0 && info->si_code != SI_TKILL &&
                  syscall(SYS_rt_sigqueueinfo, task->pid, info->si_signo, info) == 0;
    if (!queued) {
        (void)kill(task->pid, info->si_signo);
    }
}

void probe_signals_forward(const probe_task *task, const siginfo_t *info) {
    if (task->pid <= 0 || task->ended) {
        return;
    }
    if (info->si_code > 0) {
        if (reached_the_group(info)) {
            return;
        }
    } else if (info->si_pid == getpid() || /* what our own writes raise: SIGPIPE, SIGXFSZ */
               (task->watcher > 0 && info->si_pid == task->watcher) || from_the_task(task, info)) {
        return;
    }
    if (info->si_signo != SIGCONT || !was_continued(task)) {
        pass_on(task, info);
    }
}

static bool is_pending(int number) {
    uint64_t pending = 0;
    (void)syscall(SYS_rt_sigpending, &pending, sizeof pending);
    return (pending & bit(number)) != 0;
}

/* Whether our parent, in this session, may care for stopped jobs, as a shell does. */
static bool is_a_job(void) {
    pid_t parent = getppid();
    return parent > 0 && getsid(parent) == getsid(0);
}

/* At once: the next stop of the command would find it waiting here. */
static void pass_continue_on(const probe_task *task) {
    const uint64_t only = bit(SIGCONT);
    const struct timespec now = {0};
    siginfo_t info;
    if (syscall(SYS_rt_sigtimedwait, &only, &info, &now, sizeof only) == SIGCONT) {
        probe_signals_forward(task, &info);
    }
}

void probe_signals_stop_as(probe_task *task, int number) {
    if (is_pending(SIGCONT) || was_continued(task) || getpid() == 1) {
        return; /* a stop would discard a SIGCONT; PID 1 cannot be stopped */
    }
    task->watcher = probe_stop_watch_start(task->pid);
    if (task->watcher == 0 && !is_a_job()) {
        return; /* nobody would send us a SIGCONT */
    }
    /* One that the terminal sent to the whole group, and that waits here, becomes one with ours. */
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(number, &plain, NULL);
    (void)kill(getpid(), number);
    probe_signals_mask(SIG_UNBLOCK, bit(number), NULL);
    probe_signals_mask(SIG_BLOCK, bit(number), NULL);
    if (!is_pending(SIGCONT)) { /* in an orphaned group, only SIGSTOP stops */
        (void)kill(getpid(), SIGSTOP);
    }
    if (task->watcher > 0) { /* before the next one takes its place */
        siginfo_t info;
        (void)kill(task->watcher, SIGKILL);
        (void)waitid(P_PID, (id_t)task->watcher, &info, WEXITED | WNOWAIT);
    }
    pass_continue_on(task);
}
