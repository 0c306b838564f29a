/* Drivers whose clock is set while the task runs; no clock of the machine is touched. */
#include "nvml_fixture.h"

/* A task of 40 s at 60 %, whose driver stamps its entries with a clock that steps after 20 s. */
static int64_t task_ns, wall_ns; /* now, since the start of the task; the wall clock's lead */

static int64_t stepping_clock(clockid_t id) {
    return task_ns + (id == CLOCK_REALTIME ? wall_ns : 5000 * PROBE_NS_PER_S);
}

static void drive(int64_t origin_ns, int64_t driver_step_ns, int64_t wall_step_ns) {
    begin();
    driver.rates.gpu = 60;
    open_reader();
    reader.clock_ns = stepping_clock;
    wall_ns = 1700000000 * PROBE_NS_PER_S;
    int64_t lead_ns = origin_ns;
    for (int i = 1; i <= 400; i++) {
        task_ns = (int64_t)i * PERIOD_US * 1000;
        if (driver.count == ENTRIES_MAX) {
            driver.count--;
            memmove(driver.entry, driver.entry + 1, driver.count * sizeof driver.entry[0]);
        }
        entry((unsigned long long)(task_ns + lead_ns) / 1000, 60);
        if (i % 20 == 3) {
            (void)read_at(task_ns / PROBE_NS_PER_MS);
        }
        if (i == 208) { /* between two reads: what came since the last one is of the old clock */
            lead_ns += driver_step_ns;
            wall_ns += wall_step_ns;
        }
    }
    (void)read_at(task_ns / PROBE_NS_PER_MS);
}

static void a_step_of_the_clock_changes_no_figure(void) {
    const int64_t wall = 1700000000 * PROBE_NS_PER_S, own = 100000 * PROBE_NS_PER_S;
    const struct {
        int64_t origin_ns, driver_s, wall_s;
    } cases[] = {
        {wall, 0, 0},         {wall, 3600, 3600}, {wall, 86400, 86400},
        {wall, -3600, -3600}, {wall, 2, 2},       {wall, -2, -2},
        {wall, 30, 30},       {wall, -30, -30},   {wall, 3600, 0},
        {own, 3600, 0},       {own, 0, 3600},     {wall + 30 * PROBE_NS_PER_S, 0, 0},
        {wall, 30, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        drive(cases[i].origin_ns, cases[i].driver_s * PROBE_NS_PER_S,
              cases[i].wall_s * PROBE_NS_PER_S);
        CHECK(device.gpu.covered_ns <= 40 * PROBE_NS_PER_S);
        CHECK(device.gpu.covered_ns >= 36 * PROBE_NS_PER_S);
        CHECK_INT(device.gpu.pct_ns, 60 * (uint64_t)device.gpu.covered_ns);
        CHECK(driver.rates_calls <= 2); /* the ring serves on, not the rates of the moment */
        CHECK_INT(probe_union_length(&busy), device.gpu.busy_ns);
        CHECK(device.profile.bucket_ns * PROBE_PROFILE_BUCKETS < 80 * PROBE_NS_PER_S);
    }
}

int main(void) {
    a_step_of_the_clock_changes_no_figure();
    free(reader.samples);
    return check_failures();
}
