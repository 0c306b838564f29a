#include "check.h"
#include "clock.h"
#include "trace_writer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int wait_ms = 300;

static void sleep_ms(int ms) {
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * PROBE_NS_PER_MS};
    (void)nanosleep(&t, NULL);
}

/* Stands in for a file system: takes as many ms as the text says. */
static void deliver_slowly(probe_trace_place *place, const probe_trace_parcel *parcel) {
    sleep_ms(atoi(parcel->trace));
    (void)snprintf(place->elsewhere, sizeof place->elsewhere, "%s", parcel->trace);
    place->error = (probe_error){.sys_errno = ENOSPC, .status = PROBE_E_SYSCALL};
}

static probe_trace_place place;

static probe_trace_writer start(bool apart) {
    probe_trace_writer writer;
    place = (probe_trace_place){.file.directory = -1};
    probe_trace_writer_open(&writer, deliver_slowly, apart ? probe_trace_writer_process : NULL);
    CHECK(probe_trace_writer_start(&writer, &place) == apart);
    CHECK((writer.pid != 0) == apart);
    return writer;
}

static bool send_text(probe_trace_writer *writer, const char *text, bool final) {
    const probe_trace_parcel parcel = {
        .trace = text, .trace_length = strlen(text) + 1, .final = final};
    return probe_trace_writer_send(writer, &place, &parcel, final ? wait_ms : 0);
}

static int64_t since_ms(int64_t begin_ns) {
    return (probe_clock_mono_ns() - begin_ns) / PROBE_NS_PER_MS;
}

static void results_come_back(bool apart) {
    probe_trace_writer writer = start(apart);
    CHECK(send_text(&writer, "0 first", false));
    CHECK(send_text(&writer, "0 last", true));
    CHECK_STR(place.elsewhere, "0 last");
    CHECK_INT(place.error.sys_errno, ENOSPC);
    CHECK(probe_trace_writer_close(&writer));
    CHECK(waitpid(-1, NULL, 0) < 0); /* nothing is left behind */
}

static void a_checkpoint_is_not_waited_for(void) {
    probe_trace_writer writer = start(true);
    int64_t begin_ns = probe_clock_mono_ns();
    CHECK(send_text(&writer, "100", false));
    CHECK(!send_text(&writer, "0 dropped", false)); /* it is still at the first */
    CHECK(since_ms(begin_ns) < 80);
    CHECK(send_text(&writer, "0 last", true));
    CHECK(since_ms(begin_ns) >= 99);
    CHECK_STR(place.elsewhere, "0 last");
    CHECK(probe_trace_writer_close(&writer));
}

static void a_write_that_hangs_delays_the_end_by_a_bounded_time(bool earlier) {
    probe_trace_writer writer = start(true);
    pid_t pid = writer.pid;
    int64_t begin_ns = probe_clock_mono_ns();
    if (earlier) {
        CHECK(send_text(&writer, "20000", false));
    }
    CHECK(!send_text(&writer, "20000", true));
    CHECK(since_ms(begin_ns) >= wait_ms - 1);
    CHECK(probe_trace_writer_close(&writer));
    CHECK(since_ms(begin_ns) < wait_ms + 200);
    CHECK_INT(kill(pid, 0), 0); /* left to itself */
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void kill_process(probe_trace_writer *writer) {
    (void)kill(writer->pid, SIGKILL);
    siginfo_t ended;
    CHECK_INT(waitid(P_PID, (id_t)writer->pid, &ended, WEXITED | WNOWAIT), 0);
}

static void reap(probe_trace_writer *writer) {
    CHECK(waitpid(writer->pid, NULL, 0) == writer->pid);
    probe_trace_writer_lost(writer);
    writer->pid = 0;
}

static void a_killed_process_is_replaced(void) {
    probe_trace_writer writer = start(true);
    CHECK(send_text(&writer, "0 first", true));
    kill_process(&writer);
    reap(&writer);
    CHECK(send_text(&writer, "0 second", true));
    CHECK_STR(place.elsewhere, "0 second");
    CHECK(writer.pid != 0); /* not by own hands */
    CHECK(probe_trace_writer_close(&writer));
}

/* It may still hang on its way out, and nobody may be started in its place or wait for it. */
static void a_killed_process_that_is_not_reaped_is_an_error(bool amid_a_write) {
    probe_trace_writer writer = start(true);
    CHECK(send_text(&writer, amid_a_write ? "20000" : "0 first", !amid_a_write));
    kill_process(&writer);
    int64_t begin_ns = probe_clock_mono_ns();
    CHECK(send_text(&writer, "20000", true));
    CHECK(since_ms(begin_ns) < wait_ms);
    CHECK_INT(place.error.sys_errno, EPIPE);
    reap(&writer);
    CHECK(probe_trace_writer_close(&writer));
}

int main(void) {
    results_come_back(true);
    results_come_back(false);
    a_checkpoint_is_not_waited_for();
    a_write_that_hangs_delays_the_end_by_a_bounded_time(false);
    a_write_that_hangs_delays_the_end_by_a_bounded_time(true);
    a_killed_process_is_replaced();
    a_killed_process_that_is_not_reaped_is_an_error(false);
    a_killed_process_that_is_not_reaped_is_an_error(true);
    return check_failures();
}
