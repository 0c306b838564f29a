/* A file beside the place of the trace that the trace also goes to: the copy that the user asked
 * for, and checkpoints on the local disk. Each has a writer of its own, so that the trace does not
 * wait for a file system that is not its own; nothing of it is looked at before that writer does.
 */
#ifndef PROBE_TRACE_ASIDE_H
#define PROBE_TRACE_ASIDE_H

#include "trace_place.h"
#include "trace_writer.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool wanted; /* else the rest is not touched: fresh memory costs as much as a read */
    probe_trace_writer writer;
    /* Its workdir is the directory of the file itself, made if it is missing and opened anew for
     * each delivery; written and error are of the last one. */
    probe_trace_place place;
} probe_trace_aside;

/* Nothing is wanted. */
void probe_trace_aside_none(probe_trace_aside *aside);

/* Every parcel goes to DIRECTORY/RUN_ID.trace.json. */
void probe_trace_aside_copy(probe_trace_aside *aside, const probe_trace_place_config *config,
                            const char *directory, probe_trace_start start);

/* Parcels that are not final go to gpu-probe.RUN_ID.json in $TMPDIR; a final one removes it. */
void probe_trace_aside_checkpoints(probe_trace_aside *aside, const probe_trace_place_config *config,
                                   probe_trace_start start);

/* As probe_trace_place_sign. */
void probe_trace_aside_sign(probe_trace_aside *aside, const probe_host *host);

/* As probe_trace_writer_send; true also if nothing is wanted. A copy that is not there in time
 * (wait_ms above 0) has the error ETIMEDOUT. */
bool probe_trace_aside_send(probe_trace_aside *aside, const probe_trace_parcel *parcel,
                            int wait_ms);

/* Waits for what was handed over; late as above. */
void probe_trace_aside_settle(probe_trace_aside *aside, int wait_ms);

/* Whether it can be relied on: it has not failed, and does not hang. */
bool probe_trace_aside_works(probe_trace_aside *aside);

/* As probe_trace_writer_close. */
bool probe_trace_aside_close(probe_trace_aside *aside);

#endif
