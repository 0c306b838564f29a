/* A source of the ladder, and whether it is worth asking. One that fails rests, so that the next
 * one has its turn, and is asked again more and more rarely. */
#ifndef PROBE_NVML_RUNG_H
#define PROBE_NVML_RUNG_H

#include "nvml_classify.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool absent;           /* the driver will never tell; do not ask again */
    bool worked;           /* once at least */
    unsigned int failures; /* in a row */
    int64_t rest_ns, rests_until_ns;
} nvml_rung;

/* Whether it is not to be asked at now_ns (since the start of the task, as all times here). */
bool nvml_rung_rests(const nvml_rung *rung, int64_t now_ns);

/* Notes what an answer means. NVML_FEATURE_ABSENT: the next rung has its turn, because this one is
 * absent (not supported, or not permitted) or rests: it failed three times in a row, or at once. */
nvml_class nvml_rung_judge(nvml_rung *rung, nvml_return code, int64_t now_ns);

/* Lets the next rung have its turn, as after too many failures: NVML_FEATURE_ABSENT. */
nvml_class nvml_rung_rest(nvml_rung *rung, int64_t now_ns);

#endif
