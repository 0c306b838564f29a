/* Failure injection: what the scenario's rules do to one call. */
#ifndef MOCK_RULES_H
#define MOCK_RULES_H

#include "scenario.h"

typedef struct {
    nvml_return code; /* NVML_OK: carry on */
    int64_t delay_us; /* sum of all delays that apply; to be slept first */
    bool hang;        /* never return; after the delay */
    bool crash;       /* end the process by SIGSEGV; after the delay */
} mock_verdict;

/* What a rule has done so far; the caller owns it and serialises access. */
typedef struct {
    int64_t calls; /* that matched in function, device, instance and time */
    bool stuck;    /* a sticky rule that has struck */
} mock_rule_state;

/* Judges a call of function on an instance (-1: none) of a device (-1: none) at t_ns. Of several
 * failures the first in the file decides. */
mock_verdict mock_rules_judge(const mock_scenario *scenario, mock_rule_state states[MOCK_RULES_MAX],
                              const char *function, int64_t device, int64_t mig, int64_t t_ns);

#endif
