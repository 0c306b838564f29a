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

/* What is judged: a call, or one value of those that it asks for. */
typedef struct {
    const char *function;
    int64_t device, mig, field; /* number, index and field id; -1: none */
} mock_subject;

/* Judges at t_ns. Of several failures the first in the file decides. */
mock_verdict mock_rules_judge(const mock_scenario *scenario, mock_rule_state states[MOCK_RULES_MAX],
                              const mock_subject *subject, int64_t t_ns);

#endif
