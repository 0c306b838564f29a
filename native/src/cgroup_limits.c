#include "cgroup_limits.h"

#include "file.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

bool probe_cgroup_text(const char *directory, const char *name, char *buf, size_t size) {
    char path[PATH_MAX];
    if (probe_path_join(path, sizeof path, directory, name) != PROBE_OK) {
        return false;
    }
    probe_status status = probe_file_read(AT_FDCWD, path, buf, size, NULL);
    return status == PROBE_OK || status == PROBE_E_OVERFLOW;
}

/* Cuts the last component off. False when directory is the mount point: what lies above it belongs
 * to another filesystem. */
static bool to_parent(char *directory, const char *mount) {
    char *slash = strrchr(directory, '/');
    if (strlen(directory) <= strlen(mount) || slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

bool probe_cgroup_memory_max(const char *directory, const char *mount, uint64_t *limit) {
    char level[PATH_MAX];
    char text[64];
    uint64_t smallest = 0;
    bool found = false;
    strcpy(level, directory);
    do {
        uint64_t value = 0;
        if (!probe_cgroup_text(level, "memory.max", text, sizeof text)) {
            continue; /* the root has none, and a group whose parent does not delegate memory */
        }
        found = true;
        if (probe_parse_u64(text, &value, NULL) && (smallest == 0 || value < smallest)) {
            smallest = value;
        }
    } while (to_parent(level, mount));
    *limit = smallest;
    return found;
}

bool probe_cgroup_cpu_max(const char *directory, uint64_t *quota, uint64_t *period) {
    char text[64];
    const char *rest = NULL;
    *quota = 0;
    *period = 0;
    bool limited = false;
    if (probe_cgroup_text(directory, "cpu.max", text, sizeof text)) {
        limited = probe_parse_u64(text, quota, &rest) && probe_parse_u64(rest, period, NULL);
    } else if (probe_cgroup_text(directory, "cpu.cfs_quota_us", text, sizeof text)) {
        limited = probe_parse_u64(text, quota, NULL) && /* -1 = none */
                  probe_cgroup_text(directory, "cpu.cfs_period_us", text, sizeof text) &&
                  probe_parse_u64(text, period, NULL);
    } else {
        return false;
    }
    if (!limited || *period == 0) {
        *quota = 0;
        *period = 0;
    }
    return true;
}

void probe_cgroup_tightest_cpu(char *directory, const char *mount) {
    char level[PATH_MAX];
    char best[PATH_MAX] = "";
    double best_ratio = 0; /* 0 = no quota so far */
    strcpy(level, directory);
    do {
        uint64_t quota = 0;
        uint64_t period = 0;
        if (!probe_cgroup_cpu_max(level, &quota, &period)) {
            continue;
        }
        double ratio = period == 0 ? 0 : (double)quota / (double)period;
        if (best[0] == '\0' || (ratio > 0 && (best_ratio == 0 || ratio < best_ratio))) {
            strcpy(best, level);
            best_ratio = ratio;
        }
    } while (to_parent(level, mount));
    strcpy(directory, best);
}
