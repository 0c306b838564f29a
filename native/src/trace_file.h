/* Where the trace goes. The file is replaced atomically; the last whole one survives every failure.
 */
#ifndef PROBE_TRACE_FILE_H
#define PROBE_TRACE_FILE_H

#include "probe_status.h"
#include <limits.h>
#include <stdbool.h>

typedef struct {
    int directory;  /* descriptor of the directory that holds the file: the task may rename or leave
                       its own */
    char name[256]; /* of the file */
    char temporary[288];
    char path[PATH_MAX]; /* absolute, for people */
} probe_trace_file;

/* Prepares <workdir>/.fusion/trace.json, making .fusion, or, with file, exactly that one (relative
 * to the current directory). Neither creates nor touches the file itself. The error's detail is the
 * path that failed. */
probe_status probe_trace_file_open(probe_trace_file *target, const char *workdir, const char *file,
                                   probe_error *error);

/* The timeline's file beside the trace: timeline.json for trace.json, or, when the user named the
 * trace X.json, X.timeline.json. Shares the trace's directory, so that it must not be closed.
 * PROBE_E_OVERFLOW when the name does not fit. */
probe_status probe_trace_file_beside(const probe_trace_file *trace, bool named,
                                     probe_trace_file *timeline);

/* Replaces the file by length bytes of text. */
probe_status probe_trace_file_write(const probe_trace_file *target, const char *text, size_t length,
                                    probe_error *error);

void probe_trace_file_close(probe_trace_file *target);

#endif
