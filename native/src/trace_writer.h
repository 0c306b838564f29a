/* Writing where a file system may never answer. A process of its own does it: a thread that hangs
 * in a system call keeps its whole process from ending, a child does not keep its parent. On file
 * systems that are known to be local there is no such process, and the trace is written at once. */
#ifndef PROBE_TRACE_WRITER_H
#define PROBE_TRACE_WRITER_H

#include "trace_place.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef void (*probe_trace_deliver)(probe_trace_place *place, const probe_trace_parcel *parcel);

typedef struct {
    probe_trace_deliver deliver;   /* probe_trace_place_deliver, but in tests */
    struct probe_trace_desk *desk; /* shared with the process; NULL: there is none */
    pid_t pid;                     /* the process; 0: none */
    int channel;
    bool busy; /* it has a parcel that it has not answered for */
} probe_trace_writer;

/* With apart, starts the process. Without it, or if it cannot be started, parcels are delivered by
 * the caller's own hands. */
void probe_trace_writer_open(probe_trace_writer *writer, probe_trace_deliver deliver,
                             const probe_trace_place *place, bool apart);

/* Delivers a parcel, or hands it over; its texts are copied. The results appear in place when it
 * has been delivered. A process that is still busy is waited for, at most wait_ms; then the parcel
 * is dropped: false. A parcel that is final is waited for too, in the same time. */
bool probe_trace_writer_send(probe_trace_writer *writer, probe_trace_place *place,
                             const probe_trace_parcel *parcel, int wait_ms);

/* The process has ended and was reaped: somebody killed it. */
void probe_trace_writer_lost(probe_trace_writer *writer);

/* Lets the process go, and waits for its end unless it is busy: then it delivers what it has, if it
 * ever can, and ends. */
void probe_trace_writer_close(probe_trace_writer *writer);

#endif
