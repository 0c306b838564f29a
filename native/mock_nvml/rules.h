/* Failure injection: what the scenario's rules do to one call. */
#ifndef MOCK_RULES_H
#define MOCK_RULES_H

#include "scenario.h"

typedef struct {
    nvml_return code; /* NVML_OK: carry on */
    int64_t delay_us; /* sum of all delays that apply; to be slept first */
    bool hang;        /* never return; after the delay */
} mock_verdict;

/* Judges a call of function on device (-1: none) at t_ns. calls[i] counts the calls that rule i
 * matched in function, device and time; the caller owns it and serialises access. Of several
 * failures the first in the file decides. */
mock_verdict mock_rules_judge(const mock_scenario *scenario, int64_t calls[MOCK_RULES_MAX],
                              const char *function, int64_t device, int64_t t_ns);

#endif
