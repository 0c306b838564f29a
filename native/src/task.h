/* The command: started without a trace of us, its children told, its end imitated. */
#ifndef PROBE_TASK_H
#define PROBE_TASK_H

#include "own_limits.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROBE_TASK_GROUPS = 3 };

/* Control groups that the command enters before it is executed, each by writing "0" to the open
 * descriptor of its cgroup.procs; -1: none. */
typedef struct {
    int procs[PROBE_TASK_GROUPS];
    int errors[PROBE_TASK_GROUPS]; /* why it could not enter; 0: it did */
} probe_task_groups;

typedef struct {
    pid_t pid;
    pid_t
        watcher; /* a child of ours that looks at a stopped command, until it is reaped; 0: none */
    const volatile int *exec_errno; /* of the child: 0 once it is the command */
    uint64_t inherited_mask; /* the kernel's set; this and the next, as the wrapper found them */
    struct sigaction inherited_chld;
    int inherited_subreaper;
    const probe_limits *limits; /* the command gets back those that were raised */
    bool ended;                 /* the command itself, not its descendants */
    int status;                 /* as wait4 gives it; valid once ended */
} probe_task;

/* Blocks all signals, so that they can be waited for, and makes this process adopt the command's
 * orphans. limits must live as long as task. */
void probe_task_prepare(probe_task *task, const probe_limits *limits);

/* All that was changed for this process alone is as it was found. Takes no lock and no memory. */
void probe_task_give_back(const probe_task *task);

/* This process enters the groups. The memory of a command is charged to the group that it is in at
 * exec: nothing of the wrapper's goes along. Takes no lock and no memory. groups may be NULL. */
void probe_task_enter(probe_task_groups *groups);

/* Starts the command and returns when it has been executed, or could not be: exec_errno. Or an
 * errno: there can be no process for it, and nothing was tried. A group that it cannot enter does
 * not keep it from starting. groups: NULL for none. */
int probe_task_spawn(probe_task *task, char **command, probe_task_groups *groups);

/* Executes the command in place of this process, as a shell looks it up. Returns only the errno of
 * a failure. */
int probe_task_become(char **command);

typedef enum { PROBE_CHILD_NONE, PROBE_CHILD_ENDED, PROBE_CHILD_STOPPED } probe_child_event;

/* The next child that has ended, or the command if it has stopped, and then by which signal; does
 * not reap. */
probe_child_event probe_task_next_child(const probe_task *task, pid_t *pid, int *stop);

/* Ends this process as the command ended: same exit status, or death by the same signal (128+n as
 * PID 1). */
_Noreturn void probe_task_exit_as(int status);

#endif
