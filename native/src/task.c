#include "task.h"

#include "clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void probe_task_prepare(probe_task *task) {
    *task = (probe_task){0};
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &task->inherited_mask);
    /* An inherited SIG_IGN for SIGCHLD survives exec and would make every wait fail. */
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGCHLD, &plain, &task->inherited_chld);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* In the child, which borrows its parent's memory until exec: only async-signal-safe calls. */
static _Noreturn void execute(const probe_task *task, pid_t parent, char **command,
                              volatile int *code) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a SIGKILL for the wrapper is meant for the command */
    if (getppid() == parent) {
        (void)sigaction(SIGCHLD, &task->inherited_chld, NULL);
        (void)sigprocmask(SIG_SETMASK, &task->inherited_mask, NULL);
        (void)execvp(command[0], command);
        *code = errno;
    } else {
        *code = ESRCH;
    }
    _exit(127);
}

/* vfork: the parent goes on at the moment of exec, and errno comes back through shared memory. */
static pid_t spawn(const probe_task *task, char **command, volatile int *code) {
    pid_t parent = getpid();
    pid_t pid = vfork();
    if (pid == 0) {
        execute(task, parent, command, code);
    }
    return pid;
}

int probe_task_spawn(probe_task *task, char **command) {
    volatile int code = 0;
    pid_t pid = spawn(task, command, &code);
    if (pid < 0) {
        return errno;
    }
    if (code != 0) {
        (void)waitpid(pid, NULL, 0);
        return code;
    }
    task->pid = pid;
    return 0;
}

int probe_task_wait_signal(int64_t deadline_ns, siginfo_t *info) {
    sigset_t all;
    (void)sigfillset(&all);
    for (;;) {
        int64_t left = deadline_ns - probe_clock_mono_ns();
        left = left > 0 ? left : 0;
        struct timespec timeout = {.tv_sec = left / PROBE_NS_PER_S,
                                   .tv_nsec = left % PROBE_NS_PER_S};
        int number = sigtimedwait(&all, info, &timeout);
        if (number > 0) {
            return number;
        }
        if (errno == EAGAIN) {
            return 0;
        }
    }
}

void probe_task_forward(const probe_task *task, const siginfo_t *info) {
    /* The terminal's signals (^C, ^\, ^Z, hangup) come from the kernel and went to the whole
     * foreground group. */
    bool from_kernel = info->si_code > 0;
    bool from_task = !from_kernel && info->si_pid == task->pid;
    if (task->pid > 0 && !task->ended && !from_kernel && !from_task) {
        (void)kill(task->pid, info->si_signo);
    }
}

probe_child_event probe_task_next_child(const probe_task *task, pid_t *pid) {
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && info.si_pid != 0) {
        *pid = info.si_pid;
        return PROBE_CHILD_ENDED;
    }
    info = (siginfo_t){0};
    if (!task->ended && waitid(P_PID, (id_t)task->pid, &info, WSTOPPED | WNOHANG) == 0 &&
        info.si_pid != 0) {
        *pid = info.si_pid;
        return PROBE_CHILD_STOPPED;
    }
    return PROBE_CHILD_NONE;
}

void probe_task_exit_as(int status) {
    if (WIFEXITED(status)) {
        _exit(WEXITSTATUS(status));
    }
    int number = WTERMSIG(status);
    if (getpid() != 1) {                      /* the kernel shields PID 1 from its own signals */
        const struct rlimit no_core = {0, 0}; /* the command has left its core already */
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)prctl(PR_SET_DUMPABLE, 0);
        struct sigaction plain = {.sa_handler = SIG_DFL};
        (void)sigaction(number, &plain, NULL);
        sigset_t only;
        (void)sigemptyset(&only);
        (void)sigaddset(&only, number);
        (void)raise(number);
        (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    }
    _exit(128 + number);
}
