/* The command's signals: passed on when it does not have them yet, and its stops imitated. */
#ifndef PROBE_TASK_SIGNALS_H
#define PROBE_TASK_SIGNALS_H

#include "task.h"

#include <signal.h>
#include <stdint.h>

/* As sigprocmask, by raw system calls, as all the waiting for signals here: every libc keeps a few
 * real-time signals to itself, and its calls quietly leave those out. This process has one thread
 * and no use for them; the command's signals are all the command's. set and old: the kernel's sets;
 * old may be NULL. */
void probe_signals_mask(int how, uint64_t set, uint64_t *old);

/* Waits for a signal until deadline_ns (CLOCK_MONOTONIC). Returns its number, 0 at the deadline. */
int probe_signals_wait(int64_t deadline_ns, siginfo_t *info);

/* Passes a signal on, unless the command already has it or it is not meant for it: from the
 * terminal to the group, sent by the task itself, or a SIGCONT for the whole group. */
void probe_signals_forward(const probe_task *task, const siginfo_t *info);

/* Stops this process as the command was stopped, so that its parent sees a stopped job. Returns
 * once it has been continued, which is then still to be passed on, or the command alone has been,
 * or has been killed; at once if it has been meanwhile. The watcher has ended then and is still to
 * be reaped. */
void probe_signals_stop_as(probe_task *task, int number);

#endif
