/* Temporary files of writers that were killed amid a write. */
#include "check.h"
#include "proc_reader.h"
#include "trace_place.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char workdir[] = "/tmp/probe-stray-XXXXXX";
static const char text[] = "{}\n";

static void open_place(probe_trace_place *place) {
    static probe_host host;
    const probe_trace_place_config config = {
        .workdir = workdir, .run_id = "0123456789abcdef0123456789abcdef", .proc_root = "/proc"};
    probe_trace_place_open(place, &config);
    CHECK_INT(place->error.status, PROBE_OK);
    probe_host_read("/proc", &host);
    probe_trace_place_sign(place, &host);
}

/* A process that has its temporary file, and dies or waits. Its name comes back. */
static pid_t interrupted_writer(bool killed, char name[288]) {
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        static probe_trace_place place;
        open_place(&place);
        CHECK_INT(probe_trace_file_stage(&place.file, text, strlen(text), NULL), 0);
        CHECK(write(ends[1], place.file.temporary, 288) == 288);
        if (killed) {
            (void)raise(SIGKILL);
        }
        (void)pause();
        _exit(0);
    }
    CHECK(read(ends[0], name, 288) == 288);
    (void)close(ends[0]);
    (void)close(ends[1]);
    if (killed) {
        CHECK_INT(waitpid(pid, NULL, 0), pid);
    }
    return pid;
}

static bool is_there(const probe_trace_place *place, const char *name) {
    return faccessat(place->file.directory, name, F_OK, 0) == 0;
}

static void make(const probe_trace_place *place, const char *name) {
    int fd = openat(place->file.directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    (void)close(fd);
}

/* The same name, of another boot: the digits before the last two dots. */
static void of_another_boot(const char *name, char *other) {
    memcpy(other, name, 288);
    char *boot = other + strlen(other) - strlen(".01234567.tmp") - 8;
    memcpy(boot, strncmp(boot, "00000000", 8) == 0 ? "11111111" : "00000000", 8);
}

int main(void) {
    static probe_trace_place place;
    char dead[288], live[288], elsewhere[288];
    const char *const others[] = {".x.tmp", "trace.json.tmp", ".trace.json.1.00000000.tmp",
                                  ".a.gpu-probe.tmp", ".gpu-probe.1.2.3.4.5.json"};
    CHECK(mkdtemp(workdir) != NULL);
    (void)interrupted_writer(true, dead);
    pid_t writer = interrupted_writer(false, live);
    open_place(&place);
    of_another_boot(dead, elsewhere);
    make(&place, elsewhere);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        make(&place, others[i]);
    }
    CHECK(is_there(&place, dead) && is_there(&place, live));
    const probe_trace_parcel parcel = {.trace = text, .trace_length = strlen(text)};
    probe_trace_place_deliver(&place, &parcel);
    CHECK(is_there(&place, "trace.json"));
    CHECK(!is_there(&place, dead));
    CHECK(is_there(&place, live));
    CHECK(is_there(&place, elsewhere));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        CHECK(is_there(&place, others[i]));
    }
    (void)kill(writer, SIGKILL);
    CHECK_INT(waitpid(writer, NULL, 0), writer);
    probe_trace_place_close(&place);
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r %s", workdir);
    CHECK_INT(system(command), 0);
    return check_failures();
}
