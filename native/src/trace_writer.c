#include "trace_writer.h"

#include "clock.h"
#include "descriptors.h"
#include "trace.h"
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMELINE_MAX = 4 << 20 }; /* address space; what is not used takes no memory */

struct probe_trace_desk {
    probe_trace_place place; /* the process's own; the results of the last delivery */
    size_t trace_length, timeline_length;
    bool final;
    atomic_bool abandoned; /* nobody waits for the thread, and what it uses is its own */
    char trace[PROBE_TRACE_SIZE];
    char timeline[TIMELINE_MAX];
};

static probe_trace_parcel parcel_on(struct probe_trace_desk *desk) {
    return (probe_trace_parcel){
        .trace = desk->trace_length > 0 ? desk->trace : NULL,
        .timeline = desk->timeline_length > 0 ? desk->timeline : NULL,
        .trace_length = desk->trace_length,
        .timeline_length = desk->timeline_length,
        .final = desk->final,
    };
}

/* One parcel for each byte, until the other side is gone. */
static void serve(struct probe_trace_desk *desk, probe_trace_deliver deliver, int channel) {
    char byte;
    while (read(channel, &byte, 1) == 1) {
        const probe_trace_parcel parcel = parcel_on(desk);
        deliver(&desk->place, &parcel);
        if (send(channel, "", 1, MSG_NOSIGNAL) != 1) {
            break;
        }
    }
}

/* All signals are blocked, as they were in the parent. */
int probe_trace_writer_process(struct probe_trace_desk *desk, probe_trace_deliver deliver,
                               int channel, pid_t *pid) {
    *pid = fork();
    if (*pid == 0) {
        const int kept[] = {channel, desk->place.file.directory, desk->place.mark};
        probe_descriptors_keep(kept, sizeof kept / sizeof kept[0]);
        serve(desk, deliver, channel);
        _exit(0);
    }
    (void)close(channel);
    return *pid < 0 ? errno : 0;
}

void probe_trace_writer_serve(struct probe_trace_desk *desk, probe_trace_deliver deliver,
                              int channel) {
    serve(desk, deliver, channel);
    if (atomic_load(&desk->abandoned)) {
        probe_trace_place_close(&desk->place);
        (void)munmap(desk, sizeof *desk);
    }
    (void)close(channel);
}

void probe_trace_writer_open(probe_trace_writer *writer, probe_trace_deliver deliver,
                             probe_trace_start start) {
    *writer = (probe_trace_writer){.deliver = deliver, .start = start, .channel = -1};
}

bool probe_trace_writer_start(probe_trace_writer *writer, const probe_trace_place *place) {
    int ends[2];
    if (writer->desk != NULL || writer->start == NULL || writer->pid != 0) {
        return writer->desk != NULL;
    }
    struct probe_trace_desk *desk = mmap(NULL, sizeof *desk, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (desk == MAP_FAILED) {
        return false;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        (void)munmap(desk, sizeof *desk);
        return false;
    }
    memcpy(&desk->place, place, sizeof *place);
    if (writer->start(desk, writer->deliver, ends[1], &writer->pid) != 0) {
        writer->pid = 0;
        (void)close(ends[0]);
        (void)munmap(desk, sizeof *desk);
        return false;
    }
    writer->desk = desk;
    writer->channel = ends[0];
    return true;
}

/* The process is gone, and with it the parcel. */
static void lose(probe_trace_writer *writer, probe_trace_place *place) {
    probe_trace_writer_lost(writer); /* it will be reaped by whoever reaps */
    place->error = (probe_error){0};
    (void)probe_fail_detail(&place->error, PROBE_E_SYSCALL, EPIPE, "the trace cannot be written",
                            place->file.path[0] != '\0' ? place->file.path : place->config.workdir);
}

/* Waits for the answer to the parcel that is out. False: not within the time. */
static bool settle(probe_trace_writer *writer, probe_trace_place *place, int64_t deadline_ns) {
    while (writer->busy) {
        int64_t left_ns = deadline_ns - probe_clock_mono_ns();
        int left_ms = left_ns > 0 ? (int)((left_ns + PROBE_NS_PER_MS - 1) / PROBE_NS_PER_MS) : 0;
        struct pollfd answer = {.fd = writer->channel, .events = POLLIN};
        int ready = poll(&answer, 1, left_ms);
        char byte;
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready != 1) {
            return false;
        }
        writer->busy = false;
        if (read(writer->channel, &byte, 1) == 1) {
            memcpy(place, &writer->desk->place, sizeof *place);
        } else {
            lose(writer, place);
        }
    }
    return true;
}

bool probe_trace_writer_settle(probe_trace_writer *writer, probe_trace_place *place, int wait_ms) {
    return settle(writer, place, probe_clock_mono_ns() + wait_ms * PROBE_NS_PER_MS);
}

static void put(struct probe_trace_desk *desk, const probe_trace_parcel *parcel) {
    desk->trace_length = parcel->trace != NULL && parcel->trace_length <= sizeof desk->trace
                             ? parcel->trace_length
                             : 0;
    desk->timeline_length =
        parcel->timeline != NULL && parcel->timeline_length <= sizeof desk->timeline
            ? parcel->timeline_length
            : 0;
    desk->final = parcel->final;
    if (desk->trace_length > 0) {
        memcpy(desk->trace, parcel->trace, desk->trace_length);
    }
    if (desk->timeline_length > 0) {
        memcpy(desk->timeline, parcel->timeline, desk->timeline_length);
    }
}

bool probe_trace_writer_send(probe_trace_writer *writer, probe_trace_place *place,
                             const probe_trace_parcel *parcel, int wait_ms) {
    int64_t deadline_ns = probe_clock_mono_ns() + wait_ms * PROBE_NS_PER_MS;
    if (writer->desk != NULL && !settle(writer, place, deadline_ns)) {
        return false;
    }
    if (writer->start == NULL) {
        writer->deliver(place, parcel);
        return true;
    }
    if (!probe_trace_writer_start(writer, place)) {
        lose(writer, place);
        return true;
    }
    put(writer->desk, parcel);
    if (send(writer->channel, "", 1, MSG_NOSIGNAL) != 1) {
        lose(writer, place);
        return true;
    }
    writer->busy = true;
    return wait_ms == 0 || settle(writer, place, deadline_ns);
}

void probe_trace_writer_lost(probe_trace_writer *writer) {
    if (writer->desk != NULL) {
        (void)close(writer->channel);
        (void)munmap(writer->desk, sizeof *writer->desk);
        writer->desk = NULL;
        writer->channel = -1;
    }
    writer->busy = false;
}

/* A thread has the same descriptors and memory: while it is at work they are not to be taken away.
 */
static bool close_thread(probe_trace_writer *writer) {
    bool idle = !writer->busy;
    char byte;
    atomic_store(&writer->desk->abandoned, !idle);
    (void)shutdown(writer->channel, SHUT_WR);
    if (!idle) {
        (void)close(writer->channel);
        *writer = (probe_trace_writer){.deliver = writer->deliver, .channel = -1};
        return false;
    }
    while (read(writer->channel, &byte, 1) < 0 && errno == EINTR) {
    }
    probe_trace_writer_lost(writer); /* it has closed its end, and touches nothing any more */
    return true;
}

bool probe_trace_writer_close(probe_trace_writer *writer) {
    bool idle = !writer->busy;
    pid_t pid = writer->pid;
    if (pid == 0 && writer->desk != NULL) {
        return close_thread(writer);
    }
    probe_trace_writer_lost(writer);
    writer->pid = 0;
    if (pid > 0 && idle) {
        (void)waitpid(pid, NULL, __WALL);
    }
    return true;
}
