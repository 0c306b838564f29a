/* A bounded history of one percentage: at most PROBE_PROFILE_BUCKETS means of equal width, whatever
 * the length of the task. */
#ifndef PROBE_PROFILE_H
#define PROBE_PROFILE_H

#include <stdint.h>

enum { PROBE_PROFILE_BUCKETS = 60 };

typedef struct {
    int64_t bucket_ns; /* width; doubles whenever the history outgrows the buckets */
    int64_t covered_ns[PROBE_PROFILE_BUCKETS];
    double weighted[PROBE_PROFILE_BUCKETS]; /* percent x ns */
} probe_profile;

/* bucket_ns: the first width. */
void probe_profile_init(probe_profile *profile, int64_t bucket_ns);

/* The value held from from_ns to to_ns, ns since the start of the history; from_ns >= 0. */
void probe_profile_add(probe_profile *profile, int64_t from_ns, int64_t to_ns, double pct);

/* Doubles the width of the buckets, as a longer history would. */
void probe_profile_widen(probe_profile *profile);

/* Buckets up to the last one with readings. */
int probe_profile_length(const probe_profile *profile);

/* Mean of one bucket in percent; negative: no reading. */
double probe_profile_mean(const probe_profile *profile, int bucket);

#endif
