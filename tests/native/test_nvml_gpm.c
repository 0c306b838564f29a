/* GPM differences, against a driver whose counters are integrals of a table. */
#include "check.h"
#include "clock.h"
#include "nvml_device.h"
#include "nvml_gpm.h"

#include <string.h>

enum { METRICS = 5 };

/* What the driver answers. A sample holds the time at which it was taken. */
static struct {
    nvml_return support_code, sample_code, mig_code, metrics_code, metric_code[METRICS];
    unsigned int is_supported;
    double pct[METRICS];
    int64_t now_ms;
    int support_calls, sample_calls, mig_calls, metrics_calls;
    unsigned int asked_for; /* metrics in the last request */
    int64_t asked_ms;       /* between its two samples */
    nvml_device sampled;
    int samples;
    int64_t sample_ms[2];
} driver;

static nvml_return fake_support(nvml_device device, nvml_gpm_support *support) {
    (void)device;
    CHECK_INT(support->version, NVML_GPM_VERSION);
    driver.support_calls++;
    support->is_supported = driver.is_supported;
    return driver.support_code;
}

static nvml_return fake_alloc(void **sample) {
    CHECK(driver.samples < 2);
    *sample = &driver.sample_ms[driver.samples++];
    return NVML_OK;
}

static nvml_return fake_sample(nvml_device device, void *sample) {
    driver.sample_calls++;
    driver.sampled = device;
    *(int64_t *)sample = driver.now_ms;
    return driver.sample_code;
}

static nvml_return fake_mig_sample(nvml_device device, unsigned int gi, void *sample) {
    CHECK_INT(gi, 3);
    driver.mig_calls++;
    driver.sampled = device;
    *(int64_t *)sample = driver.now_ms;
    return driver.mig_code;
}

static nvml_return fake_metrics(nvml_gpm_metrics *request) {
    static const unsigned int ids[METRICS] = {1, 2, 3, 5, 10};
    CHECK_INT(request->version, NVML_GPM_VERSION);
    driver.metrics_calls++;
    driver.asked_for = request->count;
    driver.asked_ms = *(int64_t *)request->sample2 - *(int64_t *)request->sample1;
    for (unsigned int i = 0; i < request->count; i++) {
        for (int m = 0; m < METRICS; m++) {
            if (request->metrics[i].metric_id == ids[m]) {
                request->metrics[i].rc = driver.metric_code[m];
                request->metrics[i].value = driver.pct[m];
            }
        }
    }
    return driver.metrics_code;
}

static nvml_return fake_rates(nvml_device device, nvml_utilization *rates) {
    (void)device;
    *rates = (nvml_utilization){77, 7};
    return NVML_OK;
}

static nvml_return fake_text(nvml_device device, char *text, unsigned int size) {
    (void)device;
    (void)size;
    text[0] = '\0';
    return NVML_OK;
}

static const nvml_api api = {
    .name = fake_text,
    .uuid = fake_text,
    .utilization = fake_rates,
    .gpm_support = fake_support,
    .gpm_alloc = fake_alloc,
    .gpm_sample = fake_sample,
    .gpm_mig_sample = fake_mig_sample,
    .gpm_metrics = fake_metrics,
};
static nvml_reader reader;
static probe_gpu_device device;
static probe_union busy;
static int instance_handle, parent_handle;

static void begin(void) {
    memset(&driver, 0, sizeof driver);
    driver.is_supported = 1;
    device = (probe_gpu_device){0};
    busy = (probe_union){0};
    nvml_reader_open(&reader, &api, &instance_handle, 0, &device);
}

static void begin_instance(void) {
    begin();
    device.mig = (probe_gpu_mig){.is_instance = true, .gi = 3};
    reader.parent = &parent_handle;
}

/* Reads at now_ms after the start; returns up to when the history is known, in ms. */
static int64_t read_at(int64_t now_ms, nvml_class expected) {
    int64_t known_ns = 0;
    driver.now_ms = now_ms;
    CHECK_INT(nvml_reader_utilization(&reader, &api, now_ms * PROBE_NS_PER_MS, &busy, &known_ns),
              expected);
    return known_ns / PROBE_NS_PER_MS;
}

static void each_interval_counts_as_its_exact_mean(void) {
    begin();
    driver.pct[0] = 12.25;
    CHECK_INT(read_at(100, NVML_GOOD), 100);
    CHECK_INT(device.gpu.readings, 0);
    CHECK_INT(read_at(1100, NVML_GOOD), 1100);
    CHECK_INT(driver.asked_ms, 1000);
    driver.pct[0] = 0;
    CHECK_INT(read_at(5100, NVML_GOOD), 5100);
    CHECK_INT(device.gpu.covered_ns, 5000 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.pct_ns, 12250 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.busy_ns, 1000 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.peak_pct, 12);
    CHECK_INT(probe_union_length(&busy), 1000 * PROBE_NS_PER_MS);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_GPM);
    CHECK_INT(driver.samples, 2);
    CHECK_INT(driver.support_calls, 1);
    CHECK(device.profile.bucket_ns > 0 && probe_profile_length(&device.profile) > 0);
}

static void too_short_an_interval_waits_for_the_next_reading(void) {
    begin();
    (void)read_at(0, NVML_GOOD);
    CHECK_INT(read_at(99, NVML_GOOD), 0);
    CHECK_INT(driver.sample_calls, 1);
    CHECK_INT(read_at(100, NVML_GOOD), 100);
    CHECK_INT(driver.metrics_calls, 1);
}

static void counters_bridge_a_reading_that_failed(void) {
    begin();
    driver.pct[0] = 50;
    (void)read_at(0, NVML_GOOD);
    (void)read_at(1000, NVML_GOOD);
    driver.sample_code = NVML_E_TIMEOUT;
    for (int i = 2; i < 4; i++) {
        CHECK_INT(read_at(1000 * i, NVML_TRANSIENT), 1000);
    }
    driver.sample_code = NVML_OK;
    CHECK_INT(read_at(8000, NVML_GOOD), 8000);
    CHECK_INT(driver.asked_ms, 7000);
    CHECK_INT(device.gpu.covered_ns, 8000 * PROBE_NS_PER_MS);
}

static void a_difference_that_fails_begins_anew(void) {
    begin();
    driver.pct[0] = 50;
    (void)read_at(0, NVML_GOOD);
    (void)read_at(500, NVML_GOOD);
    driver.metrics_code = NVML_E_INVALID_ARGUMENT;
    (void)read_at(1000, NVML_TRANSIENT);
    driver.metrics_code = NVML_OK;
    CHECK_INT(read_at(3000, NVML_GOOD), 3000);
    CHECK_INT(driver.asked_ms, 2000); /* not from the sample of before */
    CHECK_INT(device.gpu.covered_ns, 2500 * PROBE_NS_PER_MS);
}

static void nonsense_is_no_reading(void) {
    const double nonsense[] = {-1, 1e9, 0.0 / 0.0};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        begin();
        (void)read_at(0, NVML_GOOD);
        driver.pct[0] = nonsense[i];
        (void)read_at(1000, NVML_GOOD);
        CHECK_INT(device.gpu.readings, 0);
        driver.pct[0] = 100.04; /* the two clocks of a counter */
        (void)read_at(2000, NVML_GOOD);
        CHECK_INT(device.gpu.pct_ns, 100000 * PROBE_NS_PER_MS);
    }
}

static void a_metric_that_lacks_is_not_asked_for_again(void) {
    begin();
    driver.pct[1] = 40.5;
    driver.metric_code[3] = NVML_E_NOT_SUPPORTED;
    driver.metric_code[2] = NVML_E_NO_DATA; /* for now */
    (void)read_at(0, NVML_GOOD);
    (void)read_at(1000, NVML_GOOD);
    CHECK_INT(driver.asked_for, 5);
    driver.metric_code[2] = NVML_OK;
    driver.pct[2] = 12;
    (void)read_at(3000, NVML_GOOD);
    CHECK_INT(driver.asked_for, 4);
    const probe_activity_sum *of = device.activity.of;
    CHECK(of[PROBE_ACTIVITY_SM].pct_ns == 40.5 * 3000 * PROBE_NS_PER_MS);
    CHECK_INT(of[PROBE_ACTIVITY_SM_OCCUPANCY].covered_ns, 2000 * PROBE_NS_PER_MS);
    CHECK_INT(of[PROBE_ACTIVITY_TENSOR].covered_ns, 0);
    CHECK_INT(of[PROBE_ACTIVITY_DRAM_BW].covered_ns, 3000 * PROBE_NS_PER_MS);
}

/* Without GPM the next rung has its turn, and GPM is not asked again. */
static void check_next_rung(void) {
    CHECK_INT(read_at(1000, NVML_GOOD), 1000);
    CHECK_INT(read_at(2000, NVML_GOOD), 2000);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_RATES);
    CHECK_INT(driver.support_calls, 1);
    CHECK_INT(driver.sample_calls <= 1, 1);
    CHECK_INT(device.gpu.peak_pct, 77);
}

static void a_device_without_gpm_is_polled(void) {
    begin();
    driver.is_supported = 0;
    check_next_rung();
    const nvml_return codes[] = {NVML_E_NOT_SUPPORTED, NVML_E_FUNCTION_NOT_FOUND,
                                 NVML_E_NO_PERMISSION, NVML_E_ARGUMENT_VERSION_MISMATCH};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        begin();
        driver.support_code = codes[i];
        check_next_rung();
        begin();
        driver.sample_code = codes[i];
        check_next_rung();
    }
}

static void a_device_without_the_metric_is_polled_from_then_on(void) {
    begin();
    driver.metric_code[0] = NVML_E_NOT_SUPPORTED;
    (void)read_at(0, NVML_GOOD);
    CHECK_INT(read_at(1000, NVML_GOOD), 1000);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_RATES);
    (void)read_at(2000, NVML_GOOD);
    CHECK_INT(device.gpu.covered_ns, 2000 * PROBE_NS_PER_MS);
    nvml_gpm_read_activity(&reader, &api, 3000 * PROBE_NS_PER_MS, false);
    CHECK_INT(driver.metrics_calls, 2); /* the other metrics go on */
}

static void a_driver_that_does_not_answer_is_asked_rarely(void) {
    begin();
    driver.support_code = NVML_E_UNKNOWN;
    for (int s = 0; s < 300; s++) {
        (void)read_at(1000 * s, NVML_GOOD);
    }
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_RATES);
    CHECK(driver.support_calls >= 5 && driver.support_calls <= 12);
}

static void a_difference_that_ends_leaves_it_to_rates_until_it_is_back(void) {
    begin();
    driver.pct[0] = 50;
    (void)read_at(0, NVML_GOOD);
    (void)read_at(1000, NVML_GOOD);
    driver.metrics_code = NVML_E_UNKNOWN;
    (void)read_at(2000, NVML_TRANSIENT);
    (void)read_at(3000, NVML_TRANSIENT);
    for (int s = 4; s < 100; s++) { /* good samples in between make up for nothing */
        (void)read_at(1000 * s, NVML_GOOD);
        CHECK_INT(device.utilization_source, PROBE_UTILIZATION_RATES);
    }
    CHECK_INT(device.gpu.covered_ns, (100 - 2) * 1000 * PROBE_NS_PER_MS); /* 1 s to 2 s is lost */
    driver.metrics_code = NVML_OK;
    for (int s = 100; s < 200; s++) {
        (void)read_at(1000 * s, NVML_GOOD);
    }
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_GPM);
    CHECK_INT(device.gpu.covered_ns, (200 - 2) * 1000 * PROBE_NS_PER_MS);
}

static void activity_is_never_above_100(void) {
    begin();
    driver.pct[1] = 100.05; /* the two clocks of a counter */
    (void)read_at(0, NVML_GOOD);
    (void)read_at(1000, NVML_GOOD);
    CHECK(device.activity.of[PROBE_ACTIVITY_SM].peak_pct == 100);
    CHECK(device.activity.of[PROBE_ACTIVITY_SM].pct_ns == 100.0 * 1000 * PROBE_NS_PER_MS);
}

static void what_gpm_covered_is_not_polled_again(void) {
    begin();
    driver.pct[0] = 50;
    (void)read_at(0, NVML_GOOD);
    (void)read_at(4000, NVML_GOOD);
    driver.sample_code = NVML_E_NOT_SUPPORTED;
    (void)read_at(5000, NVML_GOOD);
    CHECK_INT(device.gpu.covered_ns, 5000 * PROBE_NS_PER_MS);
    CHECK_INT(device.gpu.pct_ns, (50 * 4000 + 77 * 1000) * PROBE_NS_PER_MS);
}

static void a_lost_device_is_lost(void) {
    begin();
    (void)read_at(0, NVML_GOOD);
    driver.sample_code = NVML_E_GPU_IS_LOST;
    (void)read_at(1000, NVML_DEVICE_GONE);
}

static void an_instance_is_read_by_its_number(void) {
    begin_instance();
    (void)read_at(0, NVML_GOOD);
    (void)read_at(1000, NVML_GOOD);
    CHECK_INT(driver.mig_calls, 2);
    CHECK_INT(driver.sample_calls, 0);
    CHECK(driver.sampled == &parent_handle);
    begin_instance();
    driver.mig_code = NVML_E_NO_PERMISSION;
    (void)read_at(0, NVML_GOOD);
    (void)read_at(1000, NVML_GOOD);
    CHECK_INT(driver.mig_calls, 1);
    CHECK_INT(driver.sample_calls, 2);
    CHECK(driver.sampled == &instance_handle);
    CHECK_INT(device.gpu.covered_ns, 1000 * PROBE_NS_PER_MS);
}

static void activity_alone_is_read_at_a_slow_pace(void) {
    begin();
    driver.pct[1] = 30;
    for (int64_t ms = 0; ms <= 60000; ms += 500) {
        driver.now_ms = ms;
        nvml_gpm_read_activity(&reader, &api, ms * PROBE_NS_PER_MS, ms == 60000);
    }
    CHECK_INT(driver.asked_for, 4); /* not utilization */
    CHECK_INT(device.activity.of[PROBE_ACTIVITY_SM].covered_ns, 60000 * PROBE_NS_PER_MS);
    CHECK(driver.sample_calls + driver.metrics_calls <= 2 * 60 / 5 + 6);
    CHECK_INT(device.utilization_source, PROBE_UTILIZATION_NONE);
    CHECK_INT(device.gpu.readings, 0);
}

int main(void) {
    each_interval_counts_as_its_exact_mean();
    too_short_an_interval_waits_for_the_next_reading();
    counters_bridge_a_reading_that_failed();
    a_difference_that_fails_begins_anew();
    nonsense_is_no_reading();
    a_metric_that_lacks_is_not_asked_for_again();
    a_device_without_gpm_is_polled();
    a_device_without_the_metric_is_polled_from_then_on();
    a_driver_that_does_not_answer_is_asked_rarely();
    a_difference_that_ends_leaves_it_to_rates_until_it_is_back();
    activity_is_never_above_100();
    what_gpm_covered_is_not_polled_again();
    a_lost_device_is_lost();
    an_instance_is_read_by_its_number();
    activity_alone_is_read_at_a_slow_pace();
    return check_failures();
}
