/* What the wrapper says when it is over: the summary, where the trace is if not in its place, the
 * last words, or why nothing could be executed. */
#ifndef PROBE_CONCLUSION_H
#define PROBE_CONCLUSION_H

#include "audience.h"
#include "last_words.h"
#include "measurement.h"

/* 127: not found, 126: cannot be executed. */
int probe_exec_status(int code);

/* Says why command could not be executed, and returns the exit status for it. */
int probe_explain_exec(int fd, int code, const char *command);

/* One line if the trace, or its copy, is not where it should be. */
void probe_conclude_place(const probe_measurement *m, const probe_audience *ears);

/* After the final trace. words: what is known of the end beside the measurement. */
void probe_conclude(const probe_measurement *m, const probe_audience *ears,
                    probe_last_words *words);

#endif
