/* The driver branch that a build of the library plays. */
#ifndef MOCK_PROFILE_H
#define MOCK_PROFILE_H

#include <stdint.h>

typedef struct {
    const char *version; /* of the driver, unless the scenario says otherwise */
    int64_t ring, process_stride;
    int64_t v1_counts_reserved; /* 1: "used" of nvmlDeviceGetMemoryInfo has what the driver keeps */
} mock_profile;

/* Each library is linked with its own. */
extern const mock_profile mock_profile_built;

#endif
