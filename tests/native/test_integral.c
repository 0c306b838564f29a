#include "check.h"
#include "integral.h"

static void utilization_is_weighted_by_time_and_clipped_to_the_task(void) {
    probe_utilization sum = {0};
    probe_utilization_add(&sum, -50, 50, 80); /* half of it before the task */
    probe_utilization_add(&sum, 50, 200, 0);
    probe_utilization_add(&sum, 200, 300, 40);
    probe_utilization_add(&sum, -9, 0, 100); /* all of it before the task */
    CHECK_INT(sum.covered_ns, 300);
    CHECK_INT(sum.busy_ns, 150);
    CHECK_INT(sum.peak_pct, 80);
    CHECK_INT(sum.readings, 3);
    CHECK(probe_utilization_mean(&sum) == (80.0 * 50 + 40.0 * 100) / 300);
    sum = (probe_utilization){0};
    CHECK(probe_utilization_mean(&sum) == 0.0);
}

static void a_gauge_runs_straight_from_reading_to_reading(void) {
    probe_gauge gauge = {0};
    probe_gauge_add(&gauge, 0, 100);
    CHECK_INT(probe_gauge_mean(&gauge), 100); /* one reading is its own mean */
    probe_gauge_add(&gauge, 10, 200);
    probe_gauge_add(&gauge, 40, 7);
    CHECK_INT(probe_gauge_mean(&gauge), (150 * 10 * 2 + (200 + 7) * 30) / (2 * 40));
    CHECK_INT(gauge.peak_bytes, 200);
    /* 256 GiB for 30 days exceeds 64 bits and must not wrap */
    gauge = (probe_gauge){0};
    uint64_t bytes = 256ULL << 30;
    int64_t month_ns = 30LL * 86400 * 1000000000;
    probe_gauge_add(&gauge, 0, bytes);
    probe_gauge_add(&gauge, month_ns, bytes);
    CHECK(probe_gauge_mean(&gauge) == bytes);
}

static void the_published_sample_follows_from_integer_means(void) {
    /* 41 equal steps whose integer mean is the sample's byte count: pct_mem and avg_mem then are
     * the sample's */
    probe_gauge gauge = {0};
    probe_gauge_add(&gauge, 0, 6460353461ULL);
    probe_gauge_add(&gauge, 41, 6460353461ULL);
    uint64_t mean = probe_gauge_mean(&gauge);
    CHECK_INT(mean >> 20, 6161);
    CHECK(100.0 * (double)mean / (15360.0 * 1048576.0) == 40.11115345483025);
}

static void a_union_counts_overlaps_once(void) {
    probe_union u = {0};
    probe_union_add(&u, -5, 10);
    probe_union_add(&u, 20, 30);
    probe_union_add(&u, 5, 25); /* joins both */
    CHECK_INT(u.count, 1);
    CHECK_INT(probe_union_length(&u), 30);
    probe_union_add(&u, 40, 50);
    probe_union_add(&u, 35, 38);
    CHECK_INT(u.count, 3);
    CHECK_INT(probe_union_length(&u), 43);
    probe_union_settle(&u, 45);
    CHECK_INT(u.count, 1);
    CHECK_INT(probe_union_length(&u), 43);
    probe_union_add(&u, 45, 60);
    CHECK_INT(probe_union_length(&u), 53);
    probe_union_add(&u, 60, 60);
    CHECK_INT(probe_union_length(&u), 53);
}

static void a_full_union_still_counts_everything(void) {
    probe_union u = {0};
    for (int i = 0; i < 3 * PROBE_UNION_PENDING; i++) {
        probe_union_add(&u, 10 * i, 10 * i + 4);
    }
    CHECK_INT(u.count, PROBE_UNION_PENDING);
    CHECK_INT(probe_union_length(&u), 4 * 3 * PROBE_UNION_PENDING);
}

static void a_profile_stays_bounded_and_keeps_its_mean(void) {
    probe_profile profile;
    probe_profile_init(&profile, 100);
    probe_profile_add(&profile, 50, 250, 10);
    CHECK_INT(probe_profile_length(&profile), 3);
    CHECK(probe_profile_mean(&profile, 0) == 10.0);
    CHECK(probe_profile_mean(&profile, 4) < 0);
    probe_profile_add(&profile, 300, 100 * 1000, 50);
    CHECK_INT(profile.bucket_ns, 3200);
    CHECK(probe_profile_length(&profile) <= PROBE_PROFILE_BUCKETS);
    double weighted = 0;
    int64_t covered = 0;
    for (int i = 0; i < PROBE_PROFILE_BUCKETS; i++) {
        weighted += profile.weighted[i];
        covered += profile.covered_ns[i];
    }
    CHECK_INT(covered, 200 + 99700);
    CHECK(weighted == 10.0 * 200 + 50.0 * 99700);
}

int main(void) {
    utilization_is_weighted_by_time_and_clipped_to_the_task();
    a_gauge_runs_straight_from_reading_to_reading();
    the_published_sample_follows_from_integer_means();
    a_union_counts_overlaps_once();
    a_full_union_still_counts_everything();
    a_profile_stays_bounded_and_keeps_its_mean();
    return check_failures();
}
