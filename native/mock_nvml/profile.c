#include "profile.h"

/* Compiled once for each branch: CMakeLists.txt has the table. */
const mock_profile mock_profile_built = {
    .version = MOCK_PROFILE_VERSION,
    .ring = MOCK_PROFILE_RING,
    .process_stride = MOCK_PROFILE_STRIDE,
    .v1_counts_reserved = MOCK_PROFILE_RESERVED,
};
