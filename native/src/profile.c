#include "profile.h"

void probe_profile_init(probe_profile *profile, int64_t bucket_ns) {
    *profile = (probe_profile){.bucket_ns = bucket_ns};
}

void probe_profile_widen(probe_profile *profile) {
    enum { HALF = PROBE_PROFILE_BUCKETS / 2 };
    for (int i = 0; i < HALF; i++) {
        profile->covered_ns[i] = profile->covered_ns[2 * i] + profile->covered_ns[2 * i + 1];
        profile->weighted[i] = profile->weighted[2 * i] + profile->weighted[2 * i + 1];
    }
    for (int i = HALF; i < PROBE_PROFILE_BUCKETS; i++) {
        profile->covered_ns[i] = 0;
        profile->weighted[i] = 0;
    }
    profile->bucket_ns *= 2;
}

void probe_profile_add(probe_profile *profile, int64_t from_ns, int64_t to_ns, double pct) {
    while (to_ns > profile->bucket_ns * PROBE_PROFILE_BUCKETS) {
        probe_profile_widen(profile);
    }
    while (from_ns < to_ns) {
        int64_t bucket = from_ns / profile->bucket_ns;
        int64_t end = (bucket + 1) * profile->bucket_ns;
        int64_t part = (end < to_ns ? end : to_ns) - from_ns;
        profile->covered_ns[bucket] += part;
        profile->weighted[bucket] += pct * (double)part;
        from_ns += part;
    }
}

int probe_profile_length(const probe_profile *profile) {
    int length = PROBE_PROFILE_BUCKETS;
    while (length > 0 && profile->covered_ns[length - 1] == 0) {
        length--;
    }
    return length;
}

double probe_profile_mean(const probe_profile *profile, int bucket) {
    int64_t covered = profile->covered_ns[bucket];
    return covered > 0 ? profile->weighted[bucket] / (double)covered : -1.0;
}
