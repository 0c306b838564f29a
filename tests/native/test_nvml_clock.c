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

/* What is known reaches to the last entry, and is of the right time. */
static void a_small_step_is_followed(void) {
    const int64_t wall = 1700000000 * PROBE_NS_PER_S;
    const int64_t steps_ms[] = {400, -400, 900, -900, 100, -100};
    for (size_t i = 0; i < sizeof steps_ms / sizeof steps_ms[0]; i++) {
        drive(wall, steps_ms[i] * PROBE_NS_PER_MS, steps_ms[i] * PROBE_NS_PER_MS);
        CHECK(reader.gpu_ring.previous_ns >= 40 * PROBE_NS_PER_S - 2 * PERIOD_US * 1000);
        CHECK(llabs(reader.clock_offset_ns - wall - steps_ms[i] * PROBE_NS_PER_MS) <=
              50 * PROBE_NS_PER_MS);
        CHECK(device.gpu.covered_ns >= 39 * PROBE_NS_PER_S);
    }
}

/* A driver's clock that is not set as the host's is. */
static void a_clock_that_is_behind_loses_nothing(void) {
    const int64_t wall = 1700000000 * PROBE_NS_PER_S;
    const int64_t lags_ms[] = {300, 1000, 1500, 7000, 30000, 59000, 61000, 3600000};
    for (size_t i = 0; i < sizeof lags_ms / sizeof lags_ms[0]; i++) {
        drive(wall - lags_ms[i] * PROBE_NS_PER_MS, 0, 0);
        CHECK(device.gpu.covered_ns <= 40 * PROBE_NS_PER_S);
        CHECK(device.gpu.covered_ns >= 38 * PROBE_NS_PER_S);
        CHECK_INT(device.gpu.pct_ns, 60 * (uint64_t)device.gpu.covered_ns);
        CHECK_INT(device.utilization_source, PROBE_UTILIZATION_SAMPLES);
        drive(wall - lags_ms[i] * PROBE_NS_PER_MS, 3600 * PROBE_NS_PER_S, 3600 * PROBE_NS_PER_S);
        CHECK(device.gpu.covered_ns >= 36 * PROBE_NS_PER_S); /* it follows steps as before */
        CHECK(device.gpu.covered_ns <= 40 * PROBE_NS_PER_S);
    }
}

/* Entries of a burst a little before each drain: old when they come, but not always of one age. */
static void bursts_of_a_dry_ring_are_no_clock_that_is_behind(void) {
    begin();
    open_reader();
    reader.clock_ns = stepping_clock;
    wall_ns = 1700000000 * PROBE_NS_PER_S;
    for (int drain = 1; drain <= 40; drain++) {
        const int ages[] = {40, 1900, 1900, 1900, 1900};
        task_ns = drain * 4 * PROBE_NS_PER_S;
        if (driver.count == ENTRIES_MAX) {
            driver.count -= 4;
            memmove(driver.entry, driver.entry + 4, driver.count * sizeof driver.entry[0]);
        }
        for (int i = 3; i >= 0; i--) {
            int64_t end_ns = task_ns - (ages[(drain - 1) % 5] + i * 100) * PROBE_NS_PER_MS;
            entry((unsigned long long)(wall_ns + end_ns) / 1000, 60);
        }
        (void)read_at(task_ns / PROBE_NS_PER_MS);
    }
    CHECK_INT(reader.clock_lag_ns, 0);
    CHECK_INT(device.gpu.busy_ns, 40 * 400 * PROBE_NS_PER_MS);
}

int main(void) {
    a_small_step_is_followed();
    a_clock_that_is_behind_loses_nothing();
    bursts_of_a_dry_ring_are_no_clock_that_is_behind();
    a_step_of_the_clock_changes_no_figure();
    free(reader.samples);
    return check_failures();
}
