#include "gpu_reader.h"

#include "clock.h"
#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *probe_gpu_device_node(const char *dev_root) {
    static const char *const nodes[] = {"nvidiactl", "nvidia-caps", "dxg", "nvhost-ctrl-gpu"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        if (probe_path_join(path, sizeof path, dev_root, nodes[i]) == PROBE_OK &&
            access(path, F_OK) == 0) {
            return nodes[i];
        }
    }
    return NULL;
}

/* Moves a descriptor out of the range that the helper's own numbers lie in. */
static int move_up(int fd) {
    int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);
    int kept = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    errno = kept;
    return moved;
}

static int make_page(probe_gpu_page **page) {
    int fd = move_up((int)syscall(SYS_memfd_create, "gpu-probe", 1U /* MFD_CLOEXEC */));
    if (fd < 0) {
        return -1;
    }
    if (ftruncate(fd, sizeof **page) == 0) {
        void *map = mmap(NULL, sizeof **page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            *page = map;
            (*page)->layout = PROBE_GPU_PAGE_LAYOUT;
            return fd;
        }
    }
    int kept = errno;
    (void)close(fd);
    errno = kept;
    return -1;
}

/* posix_spawn neither copies this process's memory nor runs its fork handlers, which matters inside
 * a Python process. */
static int spawn(probe_gpu_reader *reader, const probe_gpu_config *config, int channel,
                 int page_fd) {
    char parent[24], start[24], interval[24], library[PATH_MAX];
    (void)snprintf(parent, sizeof parent, "%d", (int)getpid());
    (void)snprintf(start, sizeof start, "%lld", (long long)config->start_ns);
    (void)snprintf(interval, sizeof interval, "%lld", (long long)config->interval_ns);
    (void)snprintf(library, sizeof library, "%s",
                   config->nvml_library == NULL ? "" : config->nvml_library);
    char name[] = "gpu-probe-nvml";
    char gpus[2048];
    if (snprintf(gpus, sizeof gpus, "%s", config->gpus == NULL ? "" : config->gpus) >=
        (int)sizeof gpus) {
        return E2BIG;
    }
    char *argv[] = {name, parent, start, interval, library, gpus, NULL};

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) {
        return code;
    }
    code = posix_spawnattr_init(&attributes);
    if (code != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    /* The terminal's ^C goes to every process of the group: the helper blocks all signals and ends
     * with its channel. */
    sigset_t all;
    (void)sigfillset(&all);
    code = posix_spawnattr_setsigmask(&attributes, &all);
    code = code != 0 ? code : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    for (int fd = 0; fd <= 2 && code == 0; fd++) {
        code = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    }
    code = code != 0 ? code
                     : posix_spawn_file_actions_adddup2(&actions, channel, PROBE_HELPER_CHANNEL_FD);
    code = code != 0 ? code
                     : posix_spawn_file_actions_adddup2(&actions, page_fd, PROBE_HELPER_PAGE_FD);
    code = code != 0 ? code
                     : posix_spawn(&reader->pid, config->helper_path, &actions, &attributes, argv,
                                   environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return code;
}

void probe_gpu_none(probe_gpu_reader *reader) {
    reader->pid = 0;
    reader->channel = -1;
    reader->page = NULL;
    reader->library = NULL;
    reader->any = false;
    reader->note[0] = '\0';
    reader->ended[0] = '\0';
}

void probe_gpu_open(probe_gpu_reader *reader, const probe_gpu_config *config) {
    probe_gpu_none(reader);
    reader->library = config->nvml_library;
    if (config->gpus != NULL && strcmp(config->gpus, "none") == 0) {
        (void)snprintf(reader->note, sizeof reader->note, "GPUs were left out: --gpus none");
        return;
    }
    if (config->nvml_library == NULL && probe_gpu_device_node(config->dev_root) == NULL) {
        (void)snprintf(reader->note, sizeof reader->note, "no NVIDIA device node below %s",
                       config->dev_root);
        return;
    }
    const char *what = "no shared page for the NVML helper";
    int ends[2] = {-1, -1};
    int page_fd = make_page(&reader->page);
    int code = page_fd < 0 ? errno : 0;
    if (code == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        code = errno;
    }
    if (code == 0) {
        ends[0] = move_up(ends[0]);
        ends[1] = move_up(ends[1]);
        code = ends[0] < 0 || ends[1] < 0 ? errno : 0;
    }
    if (code == 0) {
        what = "the NVML helper, which belongs beside gpu-probe, could not be started";
        code = spawn(reader, config, ends[1], page_fd);
    }
    if (page_fd >= 0) {
        (void)close(page_fd);
    }
    if (ends[1] >= 0) {
        (void)close(ends[1]);
    }
    reader->channel = ends[0];
    if (code != 0) {
        reader->pid = 0;
        bool no_loader = code == ENOENT && access(config->helper_path, F_OK) == 0;
        (void)snprintf(reader->note, sizeof reader->note, "%s: %.110s: %s", what,
                       config->helper_path,
                       no_loader ? "its loader (glibc) is missing in this image" : strerror(code));
    }
}

void probe_gpu_read(probe_gpu_reader *reader) {
    if (reader->page != NULL && probe_gpu_latest(reader->page, &reader->last)) {
        reader->any = true;
    }
}

/* Whether the helper will say at once why it has nothing to read: the library that was named is
 * none. One that is named without a path is for the loader to find. */
static bool fails_at_once(const char *library) {
    unsigned char head[4] = {0};
    if (library == NULL || strchr(library, '/') == NULL) {
        return false;
    }
    int fd = open(library, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return true;
    }
    bool elf = read(fd, head, sizeof head) == (ssize_t)sizeof head &&
               memcmp(head, "\177ELF", sizeof head) == 0;
    (void)close(fd);
    return !elf;
}

/* Waits for the first reading, which may be the reason why there will be none. */
static void await_first(probe_gpu_reader *reader, int64_t deadline_ns) {
    while (!reader->any && probe_clock_mono_ns() < deadline_ns) {
        struct pollfd ended = {.fd = reader->channel, .events = POLLIN};
        if (poll(&ended, 1, 1) == 1) {
            return;
        }
        probe_gpu_read(reader);
    }
}

void probe_gpu_finish(probe_gpu_reader *reader, int wait_ms) {
    int64_t deadline = probe_clock_mono_ns() + wait_ms * PROBE_NS_PER_MS;
    probe_gpu_read(reader);
    if (reader->pid != 0 && !reader->any && fails_at_once(reader->library)) {
        await_first(reader, deadline);
    }
    if (reader->pid == 0 || !reader->any || reader->last.final) {
        return;
    }
    char finish = 1;
    if (send(reader->channel, &finish, 1, MSG_NOSIGNAL) != 1) {
        return; /* it died: what it published stands */
    }
    for (;;) {
        int64_t left_ms = (deadline - probe_clock_mono_ns()) / PROBE_NS_PER_MS;
        struct pollfd done = {.fd = reader->channel, .events = POLLIN};
        int ready = poll(&done, 1, left_ms > 0 ? (int)left_ms : 0);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        break; /* its answer, its end, or the deadline */
    }
    probe_gpu_read(reader);
}

/* Reaps the helper once it has ended, waiting at most wait_ms for that. One that is stuck in the
 * driver cannot end before the driver lets go of it: it is left to whoever inherits it. */
static void reap(pid_t pid, int wait_ms) {
#ifdef SYS_pidfd_open
    int fd = (int)syscall(SYS_pidfd_open, pid, 0U);
    if (fd >= 0) {
        struct pollfd ended = {.fd = fd, .events = POLLIN};
        while (poll(&ended, 1, wait_ms) < 0 && errno == EINTR) {
        }
        (void)close(fd);
    }
#else
    (void)wait_ms;
#endif
    (void)waitpid(pid, NULL, WNOHANG | __WALL);
}

void probe_gpu_close(probe_gpu_reader *reader) {
    if (reader->channel >= 0) {
        (void)close(reader->channel);
        reader->channel = -1;
    }
    if (reader->pid > 0) {
        (void)kill(reader->pid, SIGKILL);
        reap(reader->pid, 50);
        reader->pid = 0;
    }
    if (reader->page != NULL) {
        (void)munmap(reader->page, sizeof *reader->page);
        reader->page = NULL;
    }
}
