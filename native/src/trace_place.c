#include "trace_place.h"

#include "clock.h"
#include "file.h"
#include "json_find.h"
#include "trace_claim.h"
#include "trace_mark.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static const char *temporary_root(void) {
    const char *root = getenv("TMPDIR");
    return root != NULL && root[0] == '/' ? root : "/tmp";
}

/* Beside Fusion, by its own variable or because the directory lies on its mount: there, every write
 * is an upload. */
static bool on_fusion(const probe_trace_place *place) {
    struct stat root, mount;
    return getenv("FUSION_WORK") != NULL ||
           (strncmp(place->file.path, "/fusion/", 8) == 0 && stat("/", &root) == 0 &&
            stat("/fusion", &mount) == 0 && root.st_dev != mount.st_dev);
}

static void open_local(probe_trace_place *place) {
    char name[64];
    probe_error ignored = {0}; /* then there is no checkpoint */
    (void)snprintf(name, sizeof name, "gpu-probe.%s.json", place->config.run_id);
    (void)probe_trace_file_open_in(&place->local, temporary_root(), name, &ignored);
}

static void open_copy(probe_trace_place *place) {
    char name[64];
    if (place->config.copy_to == NULL) {
        return;
    }
    (void)snprintf(name, sizeof name, "%s.trace.json", place->config.run_id);
    (void)probe_trace_file_open_in(&place->copy, place->config.copy_to, name, &place->copy_error);
}

/* Every writer holds a shared lock on the directory of its trace. False: no other one does, so
 * that ancestors need not be looked at. For an instant two that come at once may find each other's
 * exclusive lock: neither is to go without one. */
static bool may_be_shared(int directory) {
    const struct timespec pause = {.tv_nsec = PROBE_NS_PER_MS / 20};
    bool alone = flock(directory, LOCK_EX | LOCK_NB) == 0;
    for (int i = 0; i < 40 && flock(directory, LOCK_SH | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            break; /* this file system has no locks */
        }
        (void)nanosleep(&pause, NULL);
    }
    return !alone;
}

/* An ancestor that has written its trace is known by it; one that is about to, by its mark. */
static void look_for_ancestors(probe_trace_place *place) {
    struct stat directory;
    probe_trace_ancestors found;
    if (place->nested || fstat(place->file.directory, &directory) != 0) {
        return;
    }
    if (may_be_shared(place->file.directory)) {
        probe_trace_ancestors_find(place->config.proc_root, &directory, place->file.name, &found);
        if (found.within[0] != '\0') {
            memcpy(place->within, found.within, sizeof place->within);
        }
        place->nested = place->config.may_nest && found.same_name;
    }
    if (!place->nested) {
        place->mark = probe_trace_mark(place->config.run_id, &directory, place->file.name);
    }
}

/* All but the text of paths. */
static void clear(probe_trace_place *place) {
    const size_t from = offsetof(probe_trace_place, job);
    probe_trace_file_none(&place->file);
    probe_trace_file_none(&place->local);
    probe_trace_file_none(&place->copy);
    place->mark = -1;
    memset((char *)place + from, 0, offsetof(probe_trace_place, elsewhere) - from);
    place->elsewhere[0] = '\0';
}

void probe_trace_place_open(probe_trace_place *place, const probe_trace_place_config *config) {
    clear(place);
    place->config = *config;
    probe_trace_job_read(&place->job);
    if (config->workdir == NULL && config->trace_file == NULL) {
        return;
    }
    open_copy(place);
    if (probe_trace_file_open(&place->file, config->workdir, config->trace_file, &place->error) !=
        PROBE_OK) {
        return;
    }
    memcpy(place->base, place->file.name, sizeof place->base);
    bool fusion = config->trace_file == NULL && on_fusion(place);
    if (config->trace_file == NULL && (place->job.rank[0] != '\0' || place->job.array[0] != '\0')) {
        place->level = PROBE_PLACE_RANK;
    } else if (fusion) {
        place->level = PROBE_PLACE_BESIDE;
    }
    bool chosen = probe_trace_claim_choose(place);
    look_for_ancestors(place);
    if (!chosen && !place->nested) {
        (void)probe_fail_detail(&place->error, PROBE_E_SYSCALL, EEXIST,
                                "the trace cannot be written", place->file.path);
    }
    if (fusion && !place->nested) {
        open_local(place);
    }
}

void probe_trace_place_sign(probe_trace_place *place, const probe_host *host) {
    char writer[PROBE_TRACE_WRITER_SIZE];
    probe_trace_file *const files[] = {&place->file, &place->local, &place->copy};
    probe_trace_stray_sign(host, writer);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i]->directory >= 0) {
            probe_trace_file_sign(files[i], writer);
        }
    }
}

bool probe_trace_place_any(const probe_trace_place *place) {
    return place->file.directory >= 0 || place->copy.directory >= 0;
}

static bool is_local(int directory) {
    /* Of <linux/magic.h>: ext2 to ext4, XFS, Btrfs, tmpfs, ramfs, overlayfs, ZFS, F2FS, bcachefs.
     */
    static const uint32_t local[] = {0xef53,     0x58465342, 0x9123683e, 0x01021994, 0x858458f6,
                                     0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e};
    struct statfs about;
    if (directory < 0) {
        return true;
    }
    if (fstatfs(directory, &about) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++) {
        if ((uint32_t)about.f_type == local[i]) {
            return true;
        }
    }
    return false;
}

bool probe_trace_place_may_hang(const probe_trace_place *place) {
    return !is_local(place->file.directory) || !is_local(place->copy.directory) ||
           !is_local(place->local.directory);
}

static void deliver_timeline(probe_trace_place *place, const probe_trace_parcel *parcel) {
    probe_trace_file timeline;
    place->timeline_error = (probe_error){0};
    if (probe_trace_file_beside(&place->file, place->config.trace_file != NULL, &timeline) !=
        PROBE_OK) {
        (void)probe_fail(&place->timeline_error, PROBE_E_OVERFLOW, 0,
                         "the name of its file is too long");
        return;
    }
    (void)probe_trace_file_write(&timeline, parcel->timeline, parcel->timeline_length,
                                 &place->timeline_error);
}

/* What an earlier measurement left beside the trace is not this one's. */
static void remove_stale_timeline(probe_trace_place *place) {
    enum { HEAD = 512 }; /* the run id is among the first keys */
    char head[HEAD], run_id[33] = "";
    struct stat at;
    probe_trace_file timeline;
    place->tidied = true;
    if (probe_trace_file_beside(&place->file, place->config.trace_file != NULL, &timeline) !=
            PROBE_OK ||
        fstatat(timeline.directory, timeline.name, &at, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(at.st_mode) ||
        probe_file_read(timeline.directory, timeline.name, head, sizeof head, NULL) ==
            PROBE_E_SYSCALL) {
        return;
    }
    if (probe_json_find_string(head, "run_id", run_id, sizeof run_id) &&
        strcmp(run_id, place->config.run_id) != 0) {
        (void)unlinkat(timeline.directory, timeline.name, 0);
    }
}

static void deliver_trace(probe_trace_place *place, const probe_trace_parcel *parcel) {
    bool was_stale = place->stale;
    int code = probe_trace_claim_write(place, parcel->trace, parcel->trace_length);
    place->error = (probe_error){0}; /* an earlier failure may have passed */
    if (code != 0) {
        (void)probe_fail_detail(&place->error, PROBE_E_SYSCALL, code, "the trace cannot be written",
                                place->file.path);
    }
    bool removed = was_stale && !place->stale;
    if (!place->tidied && (code == 0 || removed)) {
        remove_stale_timeline(place);
    }
}

static void sweep(probe_trace_place *place) {
    const probe_trace_file *const files[] = {&place->file, &place->local, &place->copy};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        probe_trace_stray_remove(files[i]->directory, files[i]->writer, place->config.proc_root);
    }
    place->swept = true;
}

void probe_trace_place_deliver(probe_trace_place *place, const probe_trace_parcel *parcel) {
    bool publish = place->file.directory >= 0 && (parcel->final || place->local.directory < 0);
    if (publish && parcel->timeline != NULL) {
        deliver_timeline(place, parcel);
    }
    if (parcel->trace == NULL) {
        return;
    }
    if (publish) {
        deliver_trace(place, parcel);
    } else if (place->local.directory >= 0) {
        (void)probe_trace_file_write(&place->local, parcel->trace, parcel->trace_length, NULL);
    }
    if (parcel->final && place->local.directory >= 0 && place->error.status == PROBE_OK) {
        (void)unlinkat(place->local.directory, place->local.name, 0);
    }
    if (place->copy.directory >= 0) {
        place->copy_error = (probe_error){0};
        (void)probe_trace_file_write(&place->copy, parcel->trace, parcel->trace_length,
                                     &place->copy_error);
    }
    if (!place->swept) {
        sweep(place);
    }
}

bool probe_trace_place_rescue_directory(char *path, size_t size) {
    int n = snprintf(path, size, "%s/gpu-probe-%ld", temporary_root(), (long)geteuid());
    return n > 0 && (size_t)n < size;
}

/* A directory of this user's and nobody else's, below one that all may write to. */
static bool private_directory(char *path, size_t size) {
    struct stat at;
    if (!probe_trace_place_rescue_directory(path, size) ||
        (mkdir(path, 0700) != 0 && errno != EEXIST)) {
        return false;
    }
    return lstat(path, &at) == 0 && S_ISDIR(at.st_mode) && at.st_uid == geteuid() &&
           (at.st_mode & 022) == 0;
}

void probe_trace_place_rescue(probe_trace_place *place, const probe_trace_parcel *parcel) {
    char path[PATH_MAX], name[64];
    probe_trace_file file;
    (void)snprintf(name, sizeof name, "%s.trace.json", place->config.run_id);
    if (!private_directory(path, sizeof path) ||
        probe_trace_file_open_in(&file, path, name, NULL) != PROBE_OK) {
        return;
    }
    if (probe_trace_file_write(&file, parcel->trace, parcel->trace_length, NULL) == PROBE_OK) {
        memcpy(place->elsewhere, file.path, sizeof place->elsewhere);
    }
    probe_trace_file_close(&file);
}

void probe_trace_place_close(probe_trace_place *place) {
    probe_trace_file_close(&place->local);
    probe_trace_file_close(&place->copy);
    probe_trace_file_close(&place->file);
    if (place->mark >= 0) {
        (void)close(place->mark);
        place->mark = -1;
    }
}
