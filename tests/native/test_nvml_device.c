/* The ladder of sources, against a driver made of tables: times are invented, nothing waits. */
#include "nvml_fixture.h"

static unsigned long long clock_us(clockid_t id) {
    struct timespec t;
    CHECK_INT(clock_gettime(id, &t), 0);
    return (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000;
}

static void history_from_before_the_task_is_dropped(void) {
    const unsigned long long origin = 100000000000ULL; /* a clock of the driver's own */
    begin();
    open_reader();
    for (unsigned int i = 10; i > 0; i--) { /* newest first */
        entry(origin + i * PERIOD_US, i <= 5 ? 90 : 40);
    }
    CHECK_INT(read_at(500), NVML_GOOD); /* the task began with entry 5: now is entry 10 */
    CHECK_INT(device.gpu.covered_ns, 500 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.peak_pct, 40);
    CHECK_INT(device.gpu.readings, 5);
    CHECK_INT(probe_union_length(&busy), 500 * PROBE_NS_PER_MS);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_SAMPLES);
    CHECK_INT(device.memory.covered_ns, 500 * PROBE_NS_PER_MS);
    driver.count = 0;
    entry(origin + 11 * PERIOD_US, 0);
    CHECK_INT(read_at(600), NVML_GOOD);
    CHECK_INT(device.gpu.covered_ns, 600 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.busy_ns, 500 * PROBE_NS_PER_MS);
}

static void the_drivers_clock_is_recognised(void) {
    const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_BOOTTIME};
    for (size_t c = 0; c < sizeof clocks / sizeof clocks[0]; c++) {
        begin();
        open_reader();
        unsigned long long now = clock_us(clocks[c]);
        for (unsigned int i = 0; i < 10; i++) { /* the newest entry is 50 ms old */
            entry(now - 50000 - i * PERIOD_US, 70);
        }
        CHECK_INT(read_at(300), NVML_GOOD);
        int64_t known_ms = device.gpu.covered_ns / PROBE_NS_PER_MS;
        CHECK(known_ms >= 245 && known_ms <= 255); /* up to now - 50 ms */
    }
}

static void a_dry_ring_is_filled_with_what_the_device_does_now(void) {
    begin();
    open_reader();
    for (unsigned int i = 1; i <= 5; i++) {
        entry(100000000000ULL + i * PERIOD_US, 100);
    }
    CHECK_INT(read_at(500), NVML_GOOD);
    CHECK_INT(read_at(2500), NVML_GOOD); /* nothing new for two seconds: idle */
    CHECK_INT(device.gpu.covered_ns, 2400 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.busy_ns, 500 * PROBE_NS_PER_MS);
    driver.count = 0;
    entry(100000000000ULL + 50 * PERIOD_US,
          80); /* busy again at 5 s: the ring wrote nothing meanwhile */
    CHECK_INT(read_at(5000), NVML_GOOD);
    CHECK_INT(device.gpu.covered_ns, 5000 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.busy_ns, 600 * PROBE_NS_PER_MS);
}

static void a_ring_that_is_dry_from_the_start_leaves_it_to_rates(void) {
    begin();
    open_reader();
    CHECK_INT(read_at(20), NVML_TRANSIENT);
    CHECK_INT(driver.rates_calls, 0); /* entries may still come */
    for (int i = 1; i <= 3; i++) {
        CHECK_INT(read_at(1100 * i), NVML_GOOD);
        CHECK_INT(driver.rates_calls, i); /* one for both rings */
    }
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_RATES);
    CHECK_INT(device.gpu.covered_ns, 3300 * PROBE_NS_PER_MS);
    CHECK_INT(device.memory.covered_ns, 3300 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.busy_ns, 0);
    for (unsigned int i = 36; i <= 40; i++) {
        entry(100000000000ULL + i * PERIOD_US, 70);
    }
    driver.rates.gpu = 70; /* it works: the ring is asked before its time */
    CHECK_INT(read_at(4000), NVML_GOOD);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_SAMPLES);
    CHECK_INT(device.gpu.covered_ns, 4000 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.busy_ns, 500 * PROBE_NS_PER_MS);
    begin();
    driver.rates_code = NVML_E_NOT_SUPPORTED; /* nobody tells: nothing is known */
    open_reader();
    CHECK_INT(read_at(3000), NVML_FEATURE_ABSENT);
    CHECK_INT(device.gpu.covered_ns, 0);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_NONE);
}

static void a_dry_ring_of_a_busy_device_is_not_believed(void) {
    begin();
    open_reader();
    for (unsigned int i = 1; i <= 5; i++) {
        entry(100000000000ULL + i * PERIOD_US, 100);
    }
    CHECK_INT(read_at(500), NVML_GOOD);
    driver.rates.gpu = 40;
    CHECK_INT(read_at(5500), NVML_GOOD);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_RATES);
    CHECK_INT(device.gpu.covered_ns, 2500 * PROBE_NS_PER_MS); /* three seconds are not known */
    driver.rates.gpu = 0;
    CHECK_INT(read_at(7500), NVML_GOOD);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_RATES);
    CHECK_INT(device.gpu.covered_ns, 4500 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.busy_ns, 2500 * PROBE_NS_PER_MS);
}

static void a_capacity_that_cannot_be_true_costs_no_memory(void) {
    const unsigned int nonsense[] = {0, 4097, 4000000000U};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        begin();
        driver.capacity = nonsense[i];
        open_reader();
        CHECK_INT(reader.samples_size, 128);
    }
}

/* Entries of a ring that holds five, drained every 2 s: the first hole only is unknown. */
static void only_what_is_before_the_first_entry_is_lost(void) {
    begin();
    driver.capacity = 64; /* more than it holds */
    open_reader();
    for (unsigned int i = 1; i <= 5; i++) {
        entry(100000000000ULL + i * PERIOD_US, 50);
    }
    CHECK_INT(read_at(500), NVML_GOOD);
    driver.count = 0;
    const unsigned int places[] = {16, 17, 23, 24, 25}; /* 6 to 15 are lost, 18 to 22 were idle */
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        entry(100000000000ULL + places[i] * PERIOD_US, 50);
    }
    (void)read_at(2500);
    CHECK_INT(device.gpu.covered_ns, 1500 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.busy_ns, 1000 * PROBE_NS_PER_MS);
}

static void one_entry_does_not_stand_for_long(void) {
    begin();
    driver.capacity = 1;
    open_reader();
    entry(100000000000ULL + 5 * PERIOD_US, 100);
    CHECK_INT(read_at(500), NVML_GOOD);
    int64_t first_ns = device.gpu.covered_ns;
    CHECK(first_ns <= PROBE_NS_PER_S / 5);
    driver.entry[0].timestamp_us += 50 * PERIOD_US;
    (void)read_at(5500);
    CHECK(device.gpu.covered_ns <= 2 * PROBE_NS_PER_S / 5);
}

static void values_of_each_type_are_read(void) {
    const struct {
        int type;
        nvml_sample sample;
        uint32_t pct;
    } cases[] = {
        {NVML_VALUE_DOUBLE, {.value = {.d = 41.6}}, 42},
        {NVML_VALUE_DOUBLE, {.value = {.d = -41.6}}, 0},
        {NVML_VALUE_UNSIGNED_INT, {.value = {.ui = 43}}, 43},
        {NVML_VALUE_UNSIGNED_LONG, {.value = {.ul = 44}}, 44},
        {NVML_VALUE_UNSIGNED_LONG_LONG, {.value = {.ull = 45}}, 45},
        {NVML_VALUE_SIGNED_LONG_LONG, {.value = {.sll = 46}}, 46},
        {NVML_VALUE_SIGNED_LONG_LONG, {.value = {.sll = -46}}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin();
        driver.value_type = cases[i].type;
        open_reader();
        entry(100000000000ULL, 0);
        driver.entry[driver.count] = cases[i].sample;
        driver.entry[driver.count++].timestamp_us = 100000000000ULL + PERIOD_US;
        CHECK_INT(read_at(100), NVML_GOOD);
        CHECK_INT(device.gpu.peak_pct, cases[i].pct);
    }
}

static void overwritten_entries_stay_unknown(void) {
    begin();
    driver.capacity = 5;
    open_reader();
    for (unsigned int i = 1; i <= 5; i++) {
        entry(100000000000ULL + i * PERIOD_US, 50);
    }
    CHECK_INT(read_at(500), NVML_GOOD);
    driver.count = 0;
    for (unsigned int i = 21; i <= 25; i++) { /* 6 to 20 were overwritten */
        entry(100000000000ULL + i * PERIOD_US, 50);
    }
    CHECK_INT(read_at(2500), NVML_GOOD);
    CHECK_INT(device.gpu.covered_ns, 1000 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.busy_ns, 1000 * PROBE_NS_PER_MS);
}

static void impossible_percentages_are_clamped(void) {
    begin();
    open_reader();
    entry(100000000000ULL, 10);
    entry(100000000000ULL + PERIOD_US, 3000000);
    CHECK_INT(read_at(100), NVML_GOOD);
    CHECK_INT(device.gpu.peak_pct, 100);
}

static void without_a_ring_rates_are_polled_and_without_rates_nothing(void) {
    begin();
    driver.samples_code = NVML_E_NOT_SUPPORTED;
    driver.rates = (nvml_utilization){.gpu = 30, .memory = 7};
    open_reader();
    CHECK_INT(read_at(1000), NVML_GOOD);
    CHECK_INT(read_at(1500), NVML_GOOD);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_RATES);
    CHECK_INT(device.gpu.covered_ns, 1500 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.peak_pct, 30);
    CHECK_INT(device.memory.peak_pct, 7);
    CHECK_INT(read_at(11500), NVML_GOOD); /* the poll before hung: eight seconds stay unknown */
    CHECK_INT(device.gpu.covered_ns, 3500 * PROBE_NS_PER_MS);
    begin();
    driver.samples_code = driver.rates_code =
        NVML_E_NOT_SUPPORTED; /* a MIG instance before Hopper */
    open_reader();
    CHECK_INT(read_at(1000), NVML_FEATURE_ABSENT);
    CHECK_INT(read_at(2000), NVML_FEATURE_ABSENT);
    CHECK_INT(driver.rates_calls, 1); /* never asked again */
    CHECK_INT(device.gpu.covered_ns, 0);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_NONE);
}

static void memory_v1_serves_where_v2_fails_but_they_never_mix(void) {
    begin();
    open_reader();
    driver.v2 = (nvml_memory_v2){.total = 1000, .used = 100, .reserved = 300};
    driver.v1 = (nvml_memory){.total = 1000, .used = 400};
    CHECK_INT(nvml_reader_memory(&reader, &api, 0, false), NVML_GOOD);
    CHECK_INT(device.memory_source, PROBE_MEMORY_V2);
    CHECK_INT(device.used.last_bytes, 100);
    driver.v2_code = NVML_E_UNKNOWN;
    CHECK_INT(nvml_reader_memory(&reader, &api, 1, false), NVML_TRANSIENT);
    CHECK_INT(device.used.peak_bytes, 100);
    begin();
    open_reader();
    driver.v2_code = NVML_E_UNKNOWN; /* WSL: the symbol is there, the call fails */
    driver.v1 = (nvml_memory){.total = 1000, .used = 400};
    CHECK_INT(nvml_reader_memory(&reader, &api, 0, false), NVML_TRANSIENT);
    CHECK_INT(nvml_reader_memory(&reader, &api, 0, false), NVML_TRANSIENT);
    CHECK_INT(nvml_reader_memory(&reader, &api, 0, false), NVML_GOOD);
    CHECK_INT(device.memory_source, PROBE_MEMORY_V1);
    driver.v2_code = NVML_OK;
    driver.v1.used = 500;
    CHECK_INT(nvml_reader_memory(&reader, &api, 1, false), NVML_GOOD);
    CHECK_INT(device.used.peak_bytes, 500);
}

static void a_total_of_zero_is_no_measurement(void) {
    begin();
    open_reader();
    driver.v2 = (nvml_memory_v2){.total = 0, .used = 7};
    CHECK_INT(nvml_reader_memory(&reader, &api, 0, false), NVML_GOOD);
    CHECK(!device.used.any);
    CHECK_INT(device.memory_absence, PROBE_MEMORY_NONSENSE);
    reader.shared_memory_bytes = 1000; /* an integrated device */
    CHECK_INT(nvml_reader_memory(&reader, &api, 0, false), NVML_GOOD);
    CHECK_INT(device.memory_absence, PROBE_MEMORY_UNIFIED);
}

static void more_in_use_than_there_is_is_no_measurement(void) {
    begin();
    open_reader();
    driver.v2 = (nvml_memory_v2){.total = 10, .used = 70}; /* an interposer's arithmetic */
    driver.v1 = (nvml_memory){.total = 10, .used = 70};
    CHECK_INT(nvml_reader_memory(&reader, &api, 0, false), NVML_GOOD);
    CHECK(!device.used.any);
    CHECK_INT(device.memory_absence, PROBE_MEMORY_NONSENSE);
    driver.v1.used = 7;
    CHECK_INT(nvml_reader_memory(&reader, &api, 1, false), NVML_GOOD);
    CHECK_INT(device.used.last_bytes, 7);
    CHECK_INT(device.memory_source, PROBE_MEMORY_V1);
}

static void return_codes_are_sorted(void) {
    const struct {
        nvml_return code;
        nvml_class expected;
    } cases[] = {
        {0, NVML_GOOD},          {3, NVML_FEATURE_ABSENT}, {13, NVML_FEATURE_ABSENT},
        {6, NVML_TRANSIENT},     {21, NVML_TRANSIENT},     {7, NVML_TRANSIENT},
        {10, NVML_TRANSIENT},    {999, NVML_TRANSIENT},    {15, NVML_DEVICE_GONE},
        {16, NVML_DEVICE_GONE},  {28, NVML_DEVICE_GONE},   {29, NVML_DEVICE_GONE},
        {1, NVML_LIBRARY_GONE},  {9, NVML_LIBRARY_GONE},   {17, NVML_LIBRARY_GONE},
        {18, NVML_LIBRARY_GONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_INT(nvml_classify(cases[i].code), cases[i].expected);
    }
}

int main(void) {
    history_from_before_the_task_is_dropped();
    the_drivers_clock_is_recognised();
    a_dry_ring_is_filled_with_what_the_device_does_now();
    a_ring_that_is_dry_from_the_start_leaves_it_to_rates();
    a_dry_ring_of_a_busy_device_is_not_believed();
    a_capacity_that_cannot_be_true_costs_no_memory();
    only_what_is_before_the_first_entry_is_lost();
    one_entry_does_not_stand_for_long();
    values_of_each_type_are_read();
    overwritten_entries_stay_unknown();
    impossible_percentages_are_clamped();
    without_a_ring_rates_are_polled_and_without_rates_nothing();
    memory_v1_serves_where_v2_fails_but_they_never_mix();
    a_total_of_zero_is_no_measurement();
    more_in_use_than_there_is_is_no_measurement();
    return_codes_are_sorted();
    free(reader.samples);
    return check_failures();
}
