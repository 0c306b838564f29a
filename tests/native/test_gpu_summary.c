#include "check.h"
#include "clock.h"
#include "gpu_summary.h"

static const int64_t second = PROBE_NS_PER_S;
static const uint64_t mib = 1048576;

/* A device with constant readings over ten seconds. */
static void fill(probe_gpu_device *device, uint32_t pct, uint32_t controller_pct,
                 uint64_t used_mib) {
    *device = (probe_gpu_device){.mem_total_bytes = 16384 * mib,
                                 .utilization_source = PROBE_UTILIZATION_SAMPLES};
    probe_utilization_add(&device->gpu, 0, 10 * second, pct);
    probe_utilization_add(&device->memory, 0, 10 * second, controller_pct);
    probe_gauge_add(&device->used, 0, used_mib * mib);
    probe_gauge_add(&device->used, 10 * second, used_mib * mib);
}

static void one_device_is_its_own_total(void) {
    static probe_gpu_snapshot gpu = {.count = 1};
    fill(&gpu.device[0], 60, 20, 4000);
    gpu.busy_ns = gpu.device[0].gpu.busy_ns;
    gpu.peak_used_bytes = 4000 * mib;
    probe_gpu_figures one, all;
    probe_gpu_device_figures(&gpu.device[0], 10 * second, &one);
    probe_gpu_total_figures(&gpu, 10 * second, &all);
    CHECK_INT(all.pct, 60);
    CHECK_INT(all.peak_pct, 60);
    CHECK_INT(all.active_ms, 10000);
    CHECK_INT(all.mem_mib, 16384);
    CHECK_INT(all.avg_used_mib, 4000);
    CHECK_INT(all.peak_used_mib, 4000);
    CHECK(all.used_pct == 24.4140625);
    CHECK(all.peak_used_pct == 24.4140625);
    CHECK_INT(all.controller_pct, 20);
    CHECK(all.coverage == 1.0);
    CHECK(one.used_pct == all.used_pct && one.pct == all.pct && one.active_ms == all.active_ms);
}

static void several_devices_are_one_value(void) {
    static probe_gpu_snapshot gpu = {.count = 3};
    fill(&gpu.device[0], 100, 30, 8000);
    fill(&gpu.device[1], 0, 0, 500);
    fill(&gpu.device[2], 1, 1, 500);
    probe_utilization_add(&gpu.device[0].gpu, 10 * second, 20 * second, 0);
    gpu.device[2].gpu = (probe_utilization){0}; /* not measurable on this one */
    gpu.device[2].utilization_source = PROBE_UTILIZATION_NONE;
    gpu.busy_ns = 10 * second;
    gpu.peak_used_bytes = 8500 * mib; /* the peaks of the three did not coincide */
    probe_gpu_figures all;
    probe_gpu_total_figures(&gpu, 20 * second, &all);
    CHECK_INT(all.pct, 25); /* mean of 50 and 0 */
    CHECK_INT(all.peak_pct, 100);
    CHECK_INT(all.active_ms, 10000);
    CHECK_INT(all.mem_mib, 3 * 16384);
    CHECK_INT(all.avg_used_mib, 9000);
    CHECK_INT(all.peak_used_mib, 8500);
    CHECK_INT(all.controller_pct, 10); /* 31 / 3 */
    CHECK(all.coverage == 0.5);        /* the least covered one */
}

static void a_glimpse_of_one_device_lowers_the_coverage_of_all(void) {
    static probe_gpu_snapshot gpu = {.count = 2};
    fill(&gpu.device[0], 60, 20, 4000);
    gpu.device[1].utilization_source = PROBE_UTILIZATION_SAMPLES;
    probe_utilization_add(&gpu.device[1].gpu, 0, second / 10, 50); /* then it was lost */
    probe_gpu_figures all;
    probe_gpu_total_figures(&gpu, 10 * second, &all);
    CHECK_INT(all.pct, 60);
    CHECK(all.coverage == 0.01);
}

static void what_was_not_measured_is_not_valid(void) {
    static probe_gpu_snapshot gpu = {.count = 1};
    probe_gpu_figures all;
    probe_gpu_total_figures(&gpu, second, &all);
    CHECK(!all.total_valid && !all.utilization_valid && !all.controller_valid && !all.used_valid);
}

static void a_glimpse_is_not_a_measurement(void) {
    static probe_gpu_snapshot gpu = {.count = 1};
    fill(&gpu.device[0], 60, 20, 4000); /* ten seconds */
    probe_gpu_figures one, all;
    probe_gpu_device_figures(&gpu.device[0], 201 * second, &one);
    probe_gpu_total_figures(&gpu, 201 * second, &all);
    CHECK(!one.utilization_valid && !one.controller_valid && one.used_valid);
    CHECK(!all.utilization_valid && !all.controller_valid && all.used_valid);
    probe_gpu_device_figures(&gpu.device[0], 200 * second, &one);
    probe_gpu_total_figures(&gpu, 200 * second, &all);
    CHECK(one.utilization_valid && one.controller_valid && one.coverage == 0.05);
    CHECK(all.utilization_valid && all.controller_valid && all.pct == 60);
}

static void unused_is_what_was_seen_to_be_unused(void) {
    static probe_gpu_snapshot gpu = {.count = 2};
    fill(&gpu.device[0], 0, 0, 10);
    fill(&gpu.device[1], 0, 0, 10);
    probe_gpu_figures all;
    probe_gpu_total_figures(&gpu, 20 * second, &all);
    CHECK(all.unused);
    probe_gpu_total_figures(&gpu, 21 * second, &all);
    CHECK(!all.unused && all.utilization_valid); /* less than half of the time was seen */
    gpu.device[1].gpu = (probe_utilization){0};
    probe_gpu_total_figures(&gpu, 10 * second, &all);
    CHECK(!all.unused && all.utilization_valid); /* nobody looked at the other one */
    fill(&gpu.device[1], 1, 0, 10);
    probe_gpu_total_figures(&gpu, 10 * second, &all);
    CHECK(!all.unused);
}

static void percent_is_rounded_half_up_and_mib_are_cut(void) {
    static probe_gpu_device device = {.mem_total_bytes = 15360 * mib};
    probe_utilization_add(&device.gpu, 0, second, 1);
    probe_utilization_add(&device.gpu, second, 2 * second, 2);
    probe_gauge_add(&device.used, 0, 6161 * mib + mib - 1);
    probe_gpu_figures figures;
    probe_gpu_device_figures(&device, 2 * second, &figures);
    CHECK_INT(figures.pct, 2);
    CHECK_INT(figures.avg_used_mib, 6161);
    CHECK_INT(figures.peak_used_mib, 6161);
    CHECK(figures.peak_used_pct == 100.0 * 6161 / 15360);
    CHECK(figures.used_pct >
          figures.peak_used_pct); /* the mean in bytes, the peak in whole MiB, as Fusion has them */
}

int main(void) {
    one_device_is_its_own_total();
    several_devices_are_one_value();
    a_glimpse_of_one_device_lowers_the_coverage_of_all();
    what_was_not_measured_is_not_valid();
    a_glimpse_is_not_a_measurement();
    unused_is_what_was_seen_to_be_unused();
    percent_is_rounded_half_up_and_mib_are_cut();
    return check_failures();
}
