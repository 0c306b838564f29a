/* The one line that a task's stderr ends with when something killed the task. Pure formatting. */
#ifndef PROBE_LAST_WORDS_H
#define PROBE_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROBE_LAST_WORDS_XIDS = 4 };

/* What was seen; 0 where nothing was. */
typedef struct {
    int signal;         /* that the task died by */
    int exit_status;    /* if it died by none */
    int64_t elapsed_ms; /* how long it ran */
    int warned_signal;  /* the last SIGTERM or SIGXCPU that came to the wrapper */
    int64_t warned_ms;  /* since the start */
    uint64_t rss_bytes, limit_bytes;
    bool limit_is_hosts; /* there is no lower one: all of its memory */
    uint64_t oom_kills;
    bool oom_shared; /* in a group that is not the task's own: they may be others' */
    uint64_t vram_used_mib, vram_total_mib;
    int64_t vram_peak_ms; /* since the start; 0: not known */
    int xids;             /* how many different ones the driver reported, of which the first are */
    uint64_t xid[PROBE_LAST_WORDS_XIDS];
    bool gpu_lost;
} probe_last_words;

/* Writes the line with its newline. False: nothing to say. The task succeeded, or failed by itself;
 * or it died by SIGPIPE, which is how a command learns that its reader has had enough. */
bool probe_last_words_format(const probe_last_words *seen, char *out, size_t size);

#endif
