/* One file that is replaced atomically; the last whole one survives every failure. */
#ifndef PROBE_TRACE_FILE_H
#define PROBE_TRACE_FILE_H

#include "probe_status.h"
#include "trace_stray.h"
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

typedef struct {
    int directory; /* descriptor of the directory that holds the file, -1: none; the task may rename
                      or leave its own */
    char name[256]; /* of the file */
    char temporary[288];
    char writer[PROBE_TRACE_WRITER_SIZE]; /* whose temporary file it is; empty: not known yet */
    char path[PATH_MAX];                  /* absolute, for people */
} probe_trace_file;

/* No file. */
void probe_trace_file_none(probe_trace_file *target);

/* Prepares <workdir>/.fusion/trace.json, making .fusion, or, with file, exactly that one (relative
 * to the current directory). Neither creates nor touches the file itself. The error's detail is the
 * path that failed. */
probe_status probe_trace_file_open(probe_trace_file *target, const char *workdir, const char *file,
                                   probe_error *error);

/* Prepares name in directory, which is made if it is missing. */
probe_status probe_trace_file_open_in(probe_trace_file *target, const char *directory,
                                      const char *name, probe_error *error);

/* The names of its temporary files say from now on whose they are. */
void probe_trace_file_sign(probe_trace_file *target, const char *writer);

/* Gives the file another name in its directory. */
probe_status probe_trace_file_rename(probe_trace_file *target, const char *name);

/* The timeline's file beside the trace: timeline.json for trace.json, or, when the user named the
 * trace X.json, X.timeline.json. Shares the trace's directory, so that it must not be closed.
 * PROBE_E_OVERFLOW when the name does not fit. */
probe_status probe_trace_file_beside(const probe_trace_file *trace, bool named,
                                     probe_trace_file *timeline);

/* Writes the temporary file. 0, or errno, and then there is none. staged (may be NULL): what it is.
 */
int probe_trace_file_stage(const probe_trace_file *target, const char *text, size_t length,
                           struct stat *staged);

/* Whether a file system's answer to a rename or a link means that it has no such operation. */
bool probe_trace_file_unsupported(int code);

/* Makes the temporary file the file, whatever is there. Where the file system cannot rename, text
 * is written in place, in one piece. 0, or errno; the temporary file is gone in both cases. */
int probe_trace_file_install(const probe_trace_file *target, const char *text, size_t length);

/* Replaces the file by length bytes of text: stage and install. */
probe_status probe_trace_file_write(const probe_trace_file *target, const char *text, size_t length,
                                    probe_error *error);

void probe_trace_file_close(probe_trace_file *target);

#endif
