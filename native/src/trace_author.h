/* Who wrote a trace that is already there, and whether it still does. */
#ifndef PROBE_TRACE_AUTHOR_H
#define PROBE_TRACE_AUTHOR_H

typedef enum {
    PROBE_AUTHOR_FOREIGN,  /* not one of us: there is no probe block */
    PROBE_AUTHOR_SELF,     /* this very measurement */
    PROBE_AUTHOR_GONE,     /* its process is gone, or it has written its last trace */
    PROBE_AUTHOR_ANCESTOR, /* a running process that this one descends from */
    PROBE_AUTHOR_LIVE,     /* any other that runs, or of which that cannot be ruled out */
} probe_author;

/* text: the trace. run_id: of this measurement. author_id receives the author's run_id; empty where
 * there is none. */
probe_author probe_trace_author(const char *text, const char *run_id, const char *proc_root,
                                char author_id[33]);

#endif
