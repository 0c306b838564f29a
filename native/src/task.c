#include "task.h"

#include "task_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void probe_task_prepare(probe_task *task, const probe_limits *limits) {
    *task = (probe_task){0};
    task->limits = limits;
    probe_signals_mask(SIG_SETMASK, UINT64_MAX, &task->inherited_mask);
    /* An inherited SIG_IGN for SIGCHLD survives exec and would make every wait fail. */
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGCHLD, &plain, &task->inherited_chld);
    (void)prctl(PR_GET_CHILD_SUBREAPER, &task->inherited_subreaper);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void probe_task_give_back(const probe_task *task) {
    (void)sigaction(SIGCHLD, &task->inherited_chld, NULL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, task->inherited_subreaper);
    probe_limits_give_back(task->limits);
    probe_signals_mask(SIG_SETMASK, task->inherited_mask, NULL);
}

/* Executes a text file without an interpreter line by the shell. There is room for more words only
 * where it is needed, which is hardly ever; malloc is not for a child that borrows its memory.
 * Returns on failure. */
static void execute_by_shell(char *file, char **command) {
    size_t words = 1; /* with the NULL at the end */
    while (command[words - 1] != NULL) {
        words++;
    }
    size_t size = (words + 1) * sizeof *command;
    char **longer = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (longer == MAP_FAILED) {
        return;
    }
    longer[0] = (char *)"/bin/sh";
    longer[1] = file;
    memcpy(longer + 2, command + 1, (words - 1) * sizeof *command);
    (void)execve(longer[0], longer, environ);
    int kept = errno;
    (void)munmap(longer, size);
    errno = kept;
}

/* As bash has it: with a NUL byte in its first line a file is no script, but a program that this
 * machine cannot run. One that cannot be read is the shell's to refuse. */
static bool is_binary(const char *file) {
    char head[128];
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (n >= 4 && memcmp(head, "\177ELF", 4) == 0) {
        return true;
    }
    const char *line_end = n > 0 ? memchr(head, '\n', (size_t)n) : NULL;
    size_t length = line_end != NULL ? (size_t)(line_end - head) : n > 0 ? (size_t)n : 0;
    return memchr(head, '\0', length) != NULL;
}

/* As a shell looks a command up: along PATH unless it has a slash. Returns errno. */
static int execute_by_path(char **command) {
    if (command[0][0] == '\0') {
        return ENOENT; /* along PATH, it would be each directory itself */
    }
    const char *path = strchr(command[0], '/') != NULL ? "" : getenv("PATH");
    path = path != NULL ? path : "/usr/local/bin:/bin:/usr/bin";
    int code = ENOENT;
    for (;;) {
        char file[PATH_MAX];
        size_t length = strcspn(path, ":");
        int n = snprintf(file, sizeof file, "%.*s%s%s", (int)length, path, length > 0 ? "/" : "",
                         command[0]);
        if (n > 0 && (size_t)n < sizeof file) {
            (void)execve(file, command, environ);
            if (errno == ENOEXEC && !is_binary(file)) {
                execute_by_shell(file, command);
            }
            /* A file that may not be executed is remembered, in case no other directory has one
             * that may. */
            if (errno != ENOENT && errno != ENOTDIR) {
                code = errno;
            }
            if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
                return code;
            }
        }
        if (path[length] == '\0') {
            return code;
        }
        path += length + 1;
    }
}

void probe_task_enter(probe_task_groups *groups) {
    for (size_t i = 0; groups != NULL && i < PROBE_TASK_GROUPS; i++) {
        if (groups->procs[i] >= 0 && write(groups->procs[i], "0", 1) != 1) {
            groups->errors[i] = errno;
        }
    }
}

/* What the child shares with its parent until exec. */
typedef struct {
    const probe_task *task;
    pid_t parent;
    char **command;
    probe_task_groups *groups;
    volatile int code; /* errno of exec */
} execution;

/* In the child, which borrows its parent's memory until exec: nothing that takes a lock or memory
 * of libc's. */
static int execute(void *argument) {
    execution *e = argument;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a SIGKILL for the wrapper is meant for the command */
    if (getppid() == e->parent) {
        probe_task_enter(e->groups);
        probe_task_give_back(e->task);
        e->code = execute_by_path(e->command);
    } else {
        e->code = ESRCH;
    }
    return 127; /* clone ends the child: no handlers, no buffers of the parent's */
}

/* As vfork should be: the parent goes on at the moment of exec. Not by vfork itself, which some
 * libcs make a plain fork on some architectures, as some emulators do with this call: the memory is
 * shared in any case, so that errno comes back, be it after the parent went on. */
static execution *spawn(const execution *start, pid_t *pid) {
    enum { SIZE = 256 * 1024 }; /* the execution, and the child's stack above it */
    char *shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return NULL;
    }
    execution *e = (execution *)(void *)shared;
    *e = *start;
    *pid = clone(execute, shared + SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, e);
    return e;
}

int probe_task_become(char **command) {
    return execute_by_path(command);
}

int probe_task_spawn(probe_task *task, char **command, probe_task_groups *groups) {
    const execution start = {
        .task = task, .parent = getpid(), .command = command, .groups = groups};
    pid_t pid = -1;
    execution *e = spawn(&start, &pid);
    if (e == NULL || pid < 0) {
        return errno;
    }
    task->exec_errno = &e->code;
    task->pid = pid;
    if (e->code != 0) {
        (void)waitpid(pid, NULL, 0);
        task->ended = true;
    }
    return 0;
}

probe_child_event probe_task_next_child(const probe_task *task, pid_t *pid, int *stop) {
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && info.si_pid != 0) {
        *pid = info.si_pid;
        return PROBE_CHILD_ENDED;
    }
    info = (siginfo_t){0};
    if (!task->ended && waitid(P_PID, (id_t)task->pid, &info, WSTOPPED | WNOHANG) == 0 &&
        info.si_pid != 0) {
        *pid = info.si_pid;
        *stop = info.si_status;
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
        (void)kill(getpid(), number);
        probe_signals_mask(SIG_UNBLOCK, 1ULL << (number - 1), NULL);
    }
    _exit(128 + number);
}
