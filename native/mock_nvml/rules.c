#include "rules.h"

#include <fnmatch.h>

/* A number below MOCK_MICRO that depends on nothing but seed and ordinal (SplitMix64), so that a
 * scenario with chances in it plays the same way each time. */
static int64_t drawn(int64_t seed, int64_t ordinal) {
    uint64_t z = (uint64_t)seed + (uint64_t)ordinal * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (int64_t)((z ^ (z >> 31)) % MOCK_MICRO);
}

/* True when the rule strikes a call that matches in all but time and number. */
static bool strikes(const mock_rule *rule, mock_rule_state *state, int64_t t_ns) {
    if (state->stuck) {
        return true;
    }
    if (t_ns < rule->from_ns || t_ns >= rule->to_ns) {
        return false;
    }
    state->calls++;
    if (state->calls < rule->call_first || state->calls > rule->call_last ||
        drawn(rule->seed, state->calls) >= rule->chance_micro) {
        return false;
    }
    state->stuck = rule->sticky != 0;
    return true;
}

static bool is_about(const mock_rule *rule, const mock_subject *subject) {
    return (rule->device < 0 || rule->device == subject->device) &&
           (rule->mig < 0 || rule->mig == subject->mig) && rule->field == subject->field &&
           fnmatch(rule->glob, subject->function, 0) == 0;
}

mock_verdict mock_rules_judge(const mock_scenario *scenario, mock_rule_state states[MOCK_RULES_MAX],
                              const mock_subject *subject, int64_t t_ns) {
    mock_verdict verdict = {0};
    for (int64_t i = 0; i < scenario->rule_count; i++) {
        const mock_rule *rule = &scenario->rules[i];
        if (!is_about(rule, subject) || !strikes(rule, &states[i], t_ns)) {
            continue;
        }
        if (rule->kind == MOCK_DELAY) {
            verdict.delay_us += rule->delay_us;
        } else if (rule->kind == MOCK_HANG) {
            verdict.hang = true;
        } else if (rule->kind == MOCK_CRASH) {
            verdict.crash = true;
        } else if (verdict.code == NVML_OK) {
            verdict.code = (nvml_return)rule->code;
        }
    }
    return verdict;
}
