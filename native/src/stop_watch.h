/* A stopped wrapper cannot see that its command goes on. Somebody else looks. */
#ifndef PROBE_STOP_WATCH_H
#define PROBE_STOP_WATCH_H

#include <sys/types.h>

/* Starts a child that sends SIGCONT to this process whenever it is stopped and the command is not:
 * continued, or killed. It looks every 10 ms at first, then every 200 ms, and is in a process group
 * of its own. It ends with this process; whoever has been continued kills it. Returns its pid; 0
 * where /proc does not show the command, or there can be no process. */
pid_t probe_stop_watch_start(pid_t command);

#endif
