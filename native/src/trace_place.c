#include "trace_place.h"

#include "bounded.h"
#include "clock.h"
#include "trace_author.h"
#include "trace_claim.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

const char *probe_trace_place_temporary_root(void) {
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

/* Every wrapper holds a shared lock on the directory of its trace. False: no other one does, so
 * that ancestors need not be looked at. */
static bool may_be_shared(int directory) {
    bool alone = flock(directory, LOCK_EX | LOCK_NB) == 0;
    (void)flock(directory, LOCK_SH | LOCK_NB);
    return !alone;
}

/* An ancestor may be about to write its first trace. In the place of all traces, its open directory
 * is proof enough; a file that was named must show itself. */
static void await_ancestor(probe_trace_place *place) {
    struct stat directory;
    bool named = place->config.trace_file != NULL;
    if (!place->config.may_nest || place->nested || !may_be_shared(place->file.directory) ||
        fstat(place->file.directory, &directory) != 0 ||
        !probe_trace_ancestor_holds(place->config.proc_root, directory.st_dev, directory.st_ino)) {
        return;
    }
    place->nested = !named;
    const struct timespec ms = {.tv_nsec = PROBE_NS_PER_MS};
    probe_place_level level = place->level;
    for (int i = 0; named && !place->nested && i < 100; i++) {
        (void)nanosleep(&ms, NULL);
        place->level = level;
        (void)probe_trace_claim_choose(place);
    }
}

static bool is_local(int directory) {
    /* Of <linux/magic.h>: ext2 to ext4, XFS, Btrfs, tmpfs, ramfs, overlayfs, ZFS, F2FS, bcachefs.
     */
    static const uint32_t local[] = {0xef53,     0x58465342, 0x9123683e, 0x01021994, 0x858458f6,
                                     0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e};
    struct statfs about;
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

void probe_trace_place_none(probe_trace_place *place) {
    const size_t from = offsetof(probe_trace_place, job);
    place->config = (probe_trace_place_config){0};
    probe_trace_file_none(&place->file);
    memset((char *)place + from, 0, offsetof(probe_trace_place, elsewhere) - from);
    place->elsewhere[0] = '\0';
}

void probe_trace_place_open(probe_trace_place *place, const probe_trace_place_config *config) {
    probe_trace_place_none(place);
    place->config = *config;
    probe_trace_job_read(&place->job);
    if (config->workdir == NULL && config->trace_file == NULL) {
        return;
    }
    if (probe_trace_file_open(&place->file, config->workdir, config->trace_file, &place->error) !=
        PROBE_OK) {
        return;
    }
    memcpy(place->base, place->file.name, sizeof place->base);
    place->may_hang = !is_local(place->file.directory);
    place->uploads = config->trace_file == NULL && on_fusion(place);
    if (config->trace_file == NULL && (place->job.rank[0] != '\0' || place->job.array[0] != '\0')) {
        place->level = PROBE_PLACE_RANK;
    } else if (place->uploads) {
        place->level = PROBE_PLACE_BESIDE;
    }
    bool chosen = probe_trace_claim_choose(place);
    await_ancestor(place);
    if (!chosen && !place->nested) {
        (void)probe_fail_detail(&place->error, PROBE_E_SYSCALL, EEXIST,
                                "the trace cannot be written", place->file.path);
    }
}

static int open_shared(void *argument) {
    probe_trace_place *shared = argument;
    const probe_trace_place_config config = shared->config;
    probe_trace_place_open(shared, &config);
    return shared->file.directory;
}

static void fail_to_open(probe_trace_place *place, const probe_trace_place_config *config,
                         int code) {
    probe_trace_place_none(place);
    place->config = *config;
    probe_trace_job_read(&place->job);
    (void)probe_fail_detail(&place->error, PROBE_E_SYSCALL, code, "the trace cannot be written",
                            config->trace_file != NULL ? config->trace_file : config->workdir);
}

void probe_trace_place_open_within(probe_trace_place *place, const probe_trace_place_config *config,
                                   int wait_ms, pid_t *left) {
    *left = 0;
    probe_trace_place *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        fail_to_open(place, config, errno);
        return;
    }
    int directory = -1;
    shared->config = *config;
    int code = probe_bounded_run(open_shared, shared, NULL, 0, wait_ms, &directory, left);
    if (code == 0) {
        memcpy(place, shared, sizeof *place);
        place->file.directory = directory;
    } else {
        fail_to_open(place, config, code);
    }
    (void)munmap(shared, sizeof *shared);
}

void probe_trace_place_sign(probe_trace_place *place, const probe_host *host) {
    char writer[PROBE_TRACE_WRITER_SIZE];
    probe_trace_stray_sign(host, writer);
    probe_trace_file_sign(&place->file, writer);
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

static void deliver_trace(probe_trace_place *place, const probe_trace_parcel *parcel) {
    int code = probe_trace_claim_write(place, parcel->trace, parcel->trace_length);
    place->error = (probe_error){0}; /* an earlier failure may have passed */
    if (code != 0) {
        (void)probe_fail_detail(&place->error, PROBE_E_SYSCALL, code, "the trace cannot be written",
                                place->file.path);
    }
}

void probe_trace_place_deliver(probe_trace_place *place, const probe_trace_parcel *parcel) {
    if (parcel->timeline != NULL) {
        deliver_timeline(place, parcel);
    }
    if (parcel->trace == NULL) {
        return;
    }
    deliver_trace(place, parcel);
    if (!place->swept) {
        probe_trace_stray_remove(place->file.directory, place->file.writer,
                                 place->config.proc_root);
        place->swept = true;
    }
}

/* A directory of this user's and nobody else's, below one that all may write to. */
static bool private_directory(char *path, size_t size) {
    struct stat at;
    int n = snprintf(path, size, "%s/gpu-probe-%ld", probe_trace_place_temporary_root(),
                     (long)geteuid());
    if (n <= 0 || (size_t)n >= size || (mkdir(path, 0700) != 0 && errno != EEXIST)) {
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
    probe_trace_file_close(&place->file);
}
