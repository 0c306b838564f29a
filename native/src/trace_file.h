/* Where the trace goes. The file is replaced atomically; the last whole one survives every failure.
 */
#ifndef PROBE_TRACE_FILE_H
#define PROBE_TRACE_FILE_H

#include "probe_status.h"
#include <limits.h>
#include <stdbool.h>

typedef struct {
    int directory; /* descriptor of the directory that holds the file: the task may rename or leave
                      its own */
    const char *below; /* the directory that settle makes in this one and enters; NULL: none */
    char name[256];    /* of the file */
    char temporary[288];
    char path[PATH_MAX]; /* absolute, for people */
} probe_trace_file;

/* Takes hold of the place of <workdir>/.fusion/trace.json or, with file, of exactly that one
 * (relative to the current directory), wherever the task may move it to. Makes nothing. The error's
 * detail is the path that failed. */
probe_status probe_trace_file_open(probe_trace_file *target, const char *workdir, const char *file,
                                   probe_error *error);

/* The timeline's file beside the trace: timeline.json for trace.json, or, when the user named the
 * trace X.json, X.timeline.json. Shares the trace's directory, so that it must not be closed.
 * PROBE_E_OVERFLOW when the name does not fit. */
probe_status probe_trace_file_beside(const probe_trace_file *trace, bool named,
                                     probe_trace_file *timeline);
/* Makes .fusion and all else ready for writing; to be called once, from the same current directory.
 * Neither creates nor touches the file itself. On failure there is no
 * place: directory is -1. */
probe_status probe_trace_file_settle(probe_trace_file *target, probe_error *error);

/* Replaces the file by length bytes of text. */
probe_status probe_trace_file_write(const probe_trace_file *target, const char *text, size_t length,
                                    probe_error *error);

void probe_trace_file_close(probe_trace_file *target);

#endif
