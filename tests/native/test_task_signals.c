/* Which signals of the kernel concern the command. */
#include "check.h"
#include "task_signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* To ourselves, as if it came from somewhere else. */
static void send_to_us(int number, int code) {
    siginfo_t info = {.si_signo = number, .si_code = code};
    CHECK_INT(syscall(SYS_rt_sigqueueinfo, getpid(), number, &info), 0);
}

static void the_limit_of_our_own_cpu_time_is_no_news(void) {
    siginfo_t info;
    send_to_us(SIGXCPU, SI_KERNEL);
    CHECK_INT(probe_signals_wait(0, &info), 0);
    send_to_us(SIGXCPU, SI_USER);
    CHECK_INT(probe_signals_wait(0, &info), SIGXCPU);
}

/* A child that takes nothing gets the signal; which of them is pending tells what was passed on. */
static int passed_on(int number, int code, bool leads) {
    int go[2], status = 0;
    if (pipe(go) != 0) {
        return -1;
    }
    pid_t us = fork();
    if (us == 0) {
        if (leads && setsid() < 0) {
            _exit(2);
        }
        pid_t command = fork();
        if (command == 0) { /* all its signals are blocked; it looks when it is told to */
            uint64_t pending = 0;
            char byte;
            _exit(read(go[0], &byte, 1) == 1 &&
                          syscall(SYS_rt_sigpending, &pending, sizeof pending) == 0
                      ? (int)(pending >> (number - 1) & 1)
                      : 2);
        }
        const probe_task task = {.pid = command};
        siginfo_t info;
        send_to_us(number, code);
        (void)probe_signals_wait(0, &info);
        probe_signals_forward(&task, &info);
        bool told = write(go[1], "g", 1) == 1 && waitpid(command, &status, 0) == command;
        _exit(told && WIFEXITED(status) ? WEXITSTATUS(status) : 2);
    }
    CHECK_INT(waitpid(us, &status, 0), us);
    for (int i = 0; i < 2; i++) {
        (void)close(go[i]);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_terminal_tells_its_group_but_of_a_hangup_only_the_leader(void) {
    CHECK_INT(passed_on(SIGHUP, SI_KERNEL, false), 0);
    CHECK_INT(passed_on(SIGHUP, SI_KERNEL, true), 1);
    CHECK_INT(passed_on(SIGINT, SI_KERNEL, false), 0);
    CHECK_INT(passed_on(SIGINT, SI_KERNEL, true), 0);
    CHECK_INT(passed_on(SIGWINCH, SI_KERNEL, true), 0);
    CHECK_INT(passed_on(SIGALRM, SI_KERNEL, false), 1); /* a timer set before exec */
}

int main(void) {
    uint64_t before;
    probe_signals_mask(SIG_SETMASK, UINT64_MAX, &before);
    the_limit_of_our_own_cpu_time_is_no_news();
    a_terminal_tells_its_group_but_of_a_hangup_only_the_leader();
    return check_failures();
}
