/* What a real driver's library does not have. */
#include "api.h"

#include "call.h"
#include "mock_clock.h"

const char *nvmlMockVersion(void) {
    return PROBE_VERSION;
}

void nvmlMockSetTime(long long scenario_ns) {
    mock_call_set_time(scenario_ns);
}

long long nvmlMockTime(int clock) {
    return mock_clock_ns((clockid_t)clock);
}
