/* Who reads what the wrapper itself has to say. */
#ifndef PROBE_AUDIENCE_H
#define PROBE_AUDIENCE_H

#include "options.h"
#include <stdbool.h>
#include <sys/types.h>

/* Who listens to our own words at the end. */
typedef struct {
    int fd;        /* our own copy of stderr; -1: nobody */
    bool may_hang; /* it is a file, which may lie anywhere: no pipe, socket or device */
    bool summary;  /* was asked for: the copy is kept whatever the command does */
    bool unicode;
} probe_audience;

/* Writes text whole, or as much of it as somebody reads: false then. */
bool probe_say(int fd, const char *text);

/* Our own copy of stderr, but with --quiet. Can wait until the command runs. */
probe_audience probe_audience_choose(const probe_options *options);

/* A command that closes its stderr, or sends it elsewhere, means its reader to see the end, which
 * our copy would hold back: it goes as well, within a second. After the command's
 * death its stderr cannot be reached any more, so a copy must be kept for last words. Touches no
 * file system but /proc. */
void probe_audience_follow(probe_audience *ears, pid_t pid);

/* Whether the above has anything to do: it should be called once a second then. */
bool probe_audience_follows(const probe_audience *ears);

/* Says the last of all texts to the copy of stderr, but waits neither for a reader that has stopped
 * reading nor, for more than a second, for a file system that does not answer. */
void probe_audience_tell(const probe_audience *ears, const char *text);

#endif
