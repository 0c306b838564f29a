#include "cgroup_files.h"

#include "cgroup_limits.h"
#include "file.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

static int open_file(const char *directory, const char *name) {
    char path[PATH_MAX];
    return probe_path_join(path, sizeof path, directory, name) == PROBE_OK
               ? open(path, O_RDONLY | O_CLOEXEC)
               : -1;
}

bool probe_cgroup_files_read(probe_cgroup_files *files, const char *directory, const char *name,
                             char *buf, size_t size) {
    size_t i = 0;
    while (i < files->count &&
           (files->file[i].name != name || files->file[i].directory != directory)) {
        i++;
    }
    if (i == PROBE_CGROUP_FILES) {
        return probe_cgroup_text(directory, name, buf, size);
    }
    if (i == files->count) {
        files->file[i].directory = directory;
        files->file[i].name = name;
        files->file[i].fd = open_file(directory, name);
        files->count++;
    }
    int fd = files->file[i].fd;
    return fd >= 0 && probe_file_reread(fd, buf, size, NULL) != PROBE_E_SYSCALL;
}

size_t probe_cgroup_files_descriptors(const probe_cgroup_files *files, int *fds, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < files->count && count < size; i++) {
        if (files->file[i].fd >= 0) {
            fds[count++] = files->file[i].fd;
        }
    }
    return count;
}

void probe_cgroup_files_close(probe_cgroup_files *files) {
    while (files->count > 0) {
        int fd = files->file[--files->count].fd;
        if (fd >= 0) {
            (void)close(fd); /* read-only: nothing to lose */
        }
    }
}
