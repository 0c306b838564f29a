/* Writing where a file system may never answer. A process of its own does it: a thread that hangs
 * in a system call keeps its whole process from ending, a child does not keep its parent. On file
 * systems that are known to be local there is no such process, and the trace is written at once. A
 * process that dies is replaced. Inside somebody else's program, which cannot be forked, it is a
 * thread after all. */
#ifndef PROBE_TRACE_WRITER_H
#define PROBE_TRACE_WRITER_H

#include "trace_place.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct probe_trace_desk;

typedef void (*probe_trace_deliver)(probe_trace_place *place, const probe_trace_parcel *parcel);

/* Starts somebody who serves a desk until the other end of channel is closed, and takes channel
 * over. 0, or errno. pid: of a process; 0: it is a thread. */
typedef int (*probe_trace_start)(struct probe_trace_desk *desk, probe_trace_deliver deliver,
                                 int channel, pid_t *pid);

typedef struct {
    probe_trace_deliver deliver;   /* probe_trace_place_deliver, but in tests */
    probe_trace_start start;       /* NULL: parcels are delivered by the caller's own hands */
    struct probe_trace_desk *desk; /* shared with the process; NULL: there is none */
    pid_t pid;                     /* the process; 0: none, or it is a thread */
    int channel;
    bool busy; /* it has a parcel that it has not answered for */
} probe_trace_writer;

/* The usual start: a process. Not where others may have handlers for a fork, or threads. */
int probe_trace_writer_process(struct probe_trace_desk *desk, probe_trace_deliver deliver,
                               int channel, pid_t *pid);

/* What a thread does instead, from beginning to end. */
void probe_trace_writer_serve(struct probe_trace_desk *desk, probe_trace_deliver deliver,
                              int channel);

/* Nothing is started yet. */
void probe_trace_writer_open(probe_trace_writer *writer, probe_trace_deliver deliver,
                             probe_trace_start start);

/* Starts the process, or another one where the last has been reaped; otherwise the first parcel
 * does. False: there is none. */
bool probe_trace_writer_start(probe_trace_writer *writer, const probe_trace_place *place);

/* Delivers a parcel, or hands it over; its texts are copied. The results appear in place when it
 * has been delivered; that there is no process to hand it to is an error there: with start, nothing
 * is ever written by own hands. A process that is still busy is waited for, at most wait_ms; then
 * the parcel is dropped: false. With wait_ms, the delivery is waited for too, in the same time. */
bool probe_trace_writer_send(probe_trace_writer *writer, probe_trace_place *place,
                             const probe_trace_parcel *parcel, int wait_ms);

/* Waits for the delivery of what was handed over. False: not within wait_ms. */
bool probe_trace_writer_settle(probe_trace_writer *writer, probe_trace_place *place, int wait_ms);

/* The process has ended and was reaped: somebody killed it. */
void probe_trace_writer_lost(probe_trace_writer *writer);

/* Lets the process go, and waits for its end unless it is busy: then it delivers what it has, if it
 * ever can, and ends. False: a thread is busy; it closes the place when it can, and the strings of
 * the place's configuration must stay for ever. */
bool probe_trace_writer_close(probe_trace_writer *writer);

#endif
