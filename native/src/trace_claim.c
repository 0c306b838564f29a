#include "trace_claim.h"

#include "file.h"
#include "json_find.h"
#include "trace.h"
#include "trace_author.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEXT_MAX = 2 * PROBE_TRACE_SIZE, ATTEMPTS = 16 };

/* Not in every libc. */
enum { NO_REPLACE = 1, EXCHANGE = 2 };

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int move(const probe_trace_file *file, const char *from, const char *to,
                unsigned int flags) {
    long result =
        syscall(SYS_renameat2, file->directory, from, file->directory, to, (unsigned long)flags);
    return result == 0 ? 0 : errno;
}

static bool set_name(probe_trace_place *place, probe_place_level level) {
    char name[256], stem[256], host[65] = "";
    bool named = place->config.trace_file != NULL, fits = true;
    size_t length = strlen(place->base);
    bool json = length > 5 && strcmp(place->base + length - 5, ".json") == 0;
    (void)snprintf(stem, sizeof stem, "%.*s", (int)(json ? length - 5 : length), place->base);
    if (gethostname(host, sizeof host - 1) != 0) {
        host[0] = '\0';
    }
    switch (level) {
    case PROBE_PLACE_PLAIN:
        memcpy(name, place->base, length + 1);
        break;
    case PROBE_PLACE_BESIDE:
        fits = snprintf(name, sizeof name, "%.236s%sgpu-probe.json", named ? stem : "",
                        named ? "." : "") > 0;
        break;
    default:
        fits = probe_trace_name(name, sizeof name, stem, &place->job, host,
                                level == PROBE_PLACE_UNIQUE ? getpid() : 0);
    }
    place->level = level;
    return fits && probe_trace_file_rename(&place->file, name) == PROBE_OK;
}

/* A file that the user named may be any file; it is another program's only if it is its trace. */
static bool protected(const probe_trace_place *place, const char *text) {
    return place->config.trace_file == NULL || place->level != PROBE_PLACE_PLAIN ||
           probe_json_find(text, "proc") != NULL;
}

/* Who wrote the file of the present name; there is one. */
static probe_author examine(const probe_trace_place *place, char author_id[33]) {
    probe_author author = PROBE_AUTHOR_FOREIGN;
    author_id[0] = '\0';
    struct stat at;
    char *text = malloc(TEXT_MAX);
    /* A FIFO would not answer. */
    if (text != NULL && fstatat(place->file.directory, place->file.name, &at, 0) == 0 &&
        S_ISREG(at.st_mode) &&
        probe_file_read(place->file.directory, place->file.name, text, TEXT_MAX, NULL) ==
            PROBE_OK) {
        author = probe_trace_author(text, place->config.run_id, place->config.proc_root, author_id);
        if (author == PROBE_AUTHOR_FOREIGN && !protected(place, text)) {
            author = PROBE_AUTHOR_GONE;
        }
    }
    free(text);
    return author;
}

bool probe_trace_claim_choose(probe_trace_place *place) {
    for (probe_place_level level = place->level;; level = place->level) {
        char author_id[33];
        if (!set_name(place, level)) {
            return false;
        }
        place->written = place->stale = false;
        place->seen_any = fstatat(place->file.directory, place->file.name, &place->seen,
                                  AT_SYMLINK_NOFOLLOW) == 0;
        if (!place->seen_any) {
            return true;
        }
        switch (examine(place, author_id)) {
        case PROBE_AUTHOR_GONE:
            place->stale = author_id[0] != '\0';
            return true;
        case PROBE_AUTHOR_SELF:
            return true;
        case PROBE_AUTHOR_FOREIGN:
            place->level = level == PROBE_PLACE_PLAIN ? PROBE_PLACE_BESIDE : PROBE_PLACE_UNIQUE;
            break;
        case PROBE_AUTHOR_ANCESTOR:
            memcpy(place->within, author_id, sizeof place->within);
            place->nested = place->config.may_nest;
            if (place->nested) {
                return false;
            }
            /* fall through */
        default:
            place->level = level < PROBE_PLACE_RANK ? PROBE_PLACE_RANK : PROBE_PLACE_UNIQUE;
        }
        if (level == PROBE_PLACE_UNIQUE) {
            place->seen_any = false;
            return false;
        }
    }
}

/* The file that was not there when it was looked for: whoever comes second loses. */
static int create(const probe_trace_file *file) {
    int code = move(file, file->temporary, file->name, NO_REPLACE);
    if (!probe_trace_file_unsupported(code)) {
        return code;
    }
    if (linkat(file->directory, file->temporary, file->directory, file->name, 0) != 0) {
        return errno;
    }
    (void)unlinkat(file->directory, file->temporary, 0);
    return 0;
}

static bool temporary_is(const probe_trace_file *file, const struct stat *expected) {
    struct stat at;
    return fstatat(file->directory, file->temporary, &at, AT_SYMLINK_NOFOLLOW) == 0 &&
           same_file(&at, expected);
}

/* Replaces the file that was seen and is another writer's, who is gone. Two may try that at once:
 * the exchange brings to light what was replaced, and if that was another file, it comes back,
 * unless its writer has replaced ours meanwhile: then that newer one stays. */
static int replace(const probe_trace_place *place, const struct stat *staged) {
    const probe_trace_file *file = &place->file;
    int code = move(file, file->temporary, file->name, EXCHANGE);
    if (code != 0) {
        return code;
    }
    if (!temporary_is(file, &place->seen)) {
        code = move(file, file->temporary, file->name, EXCHANGE);
        if (code == 0 && !temporary_is(file, staged)) {
            (void)move(file, file->temporary, file->name, EXCHANGE);
        }
        return EEXIST;
    }
    (void)unlinkat(file->directory, file->temporary, 0);
    return 0;
}

/* After a lost race the temporary file may be another writer's, or gone. */
static int stage_anew(const probe_trace_file *file, const char *text, size_t length,
                      struct stat *staged) {
    if (temporary_is(file, staged)) {
        return 0;
    }
    (void)unlinkat(file->directory, file->temporary, 0);
    return probe_trace_file_stage(file, text, length, staged);
}

static int install(probe_trace_place *place, const char *text, size_t length, struct stat *staged) {
    for (int i = 0; i < ATTEMPTS; i++) {
        struct stat there;
        bool any =
            fstatat(place->file.directory, place->file.name, &there, AT_SYMLINK_NOFOLLOW) == 0;
        int code = EEXIST;
        if (!any) {
            code = create(&place->file);
        } else if (place->seen_any && same_file(&there, &place->seen)) {
            code = place->written ? probe_trace_file_install(&place->file, text, length)
                                  : replace(place, staged);
        }
        if (probe_trace_file_unsupported(code)) {
            return probe_trace_file_install(&place->file, text, length);
        }
        if (code != EEXIST && code != ENOENT) {
            return code;
        }
        if (!probe_trace_claim_choose(place)) {
            return EEXIST;
        }
        code = stage_anew(&place->file, text, length, staged);
        if (code != 0) {
            return code;
        }
    }
    return EBUSY;
}

/* A trace that cannot be replaced, on a full disk, must not pass for this measurement's. */
static void remove_stale(probe_trace_place *place) {
    struct stat there;
    if (place->stale &&
        fstatat(place->file.directory, place->file.name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        same_file(&there, &place->seen) &&
        unlinkat(place->file.directory, place->file.name, 0) == 0) {
        place->stale = place->seen_any = false;
    }
}

static int write_claimed(probe_trace_place *place, const char *text, size_t length) {
    struct stat staged;
    int code = probe_trace_file_stage(&place->file, text, length, &staged);
    if (code != 0) {
        return code;
    }
    code = install(place, text, length, &staged);
    if (code != 0) {
        (void)unlinkat(place->file.directory, place->file.temporary, 0);
        return code;
    }
    /* Where numbers of files are not kept, or a file was written in place, the next look finds
     * another one, and reads in it that it is ours. */
    place->seen = staged;
    place->seen_any = place->written = true;
    place->stale = false;
    return 0;
}

int probe_trace_claim_write(probe_trace_place *place, const char *text, size_t length) {
    int code = write_claimed(place, text, length);
    if (code != 0) {
        remove_stale(place);
    }
    return code;
}
