/* Who reads what the wrapper itself has to say. */
#ifndef PROBE_AUDIENCE_H
#define PROBE_AUDIENCE_H

#include "options.h"
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Who listens to our own words at the end. */
typedef struct {
    int fd;         /* our own copy of stderr; -1: nobody */
    struct stat at; /* what it is a copy of */
    bool summary;   /* was asked for: the copy is kept whatever the command does */
    bool unicode;
} probe_audience;

/* Writes text whole, or as much of it as somebody reads: false then. */
bool probe_say(int fd, const char *text);

/* Before the command starts: our own copy of stderr, but with --quiet. */
probe_audience probe_audience_choose(const probe_options *options);

/* A command that closes its stderr, or sends it elsewhere, means its reader to see the end, which
 * our copy would hold back: it goes as well, within a second. After the command's
 * death its stderr cannot be reached any more, so a copy must be kept for last words. */
void probe_audience_follow(probe_audience *ears, pid_t pid);

/* Whether the above has anything to do: it should be called once a second then. */
bool probe_audience_follows(const probe_audience *ears);

/* Nobody waits for a reader that has stopped reading. */
bool probe_audience_takes_a_line(int fd);

#endif
