#include "rules.h"

#include <fnmatch.h>

mock_verdict mock_rules_judge(const mock_scenario *scenario, int64_t calls[MOCK_RULES_MAX],
                              const char *function, int64_t device, int64_t t_ns) {
    mock_verdict verdict = {0};
    for (int64_t i = 0; i < scenario->rule_count; i++) {
        const mock_rule *rule = &scenario->rules[i];
        if ((rule->device >= 0 && rule->device != device) || t_ns < rule->from_ns ||
            t_ns >= rule->to_ns || fnmatch(rule->glob, function, 0) != 0) {
            continue;
        }
        calls[i]++;
        if (calls[i] < rule->call_first || calls[i] > rule->call_last) {
            continue;
        }
        if (rule->kind == MOCK_DELAY) {
            verdict.delay_us += rule->delay_us;
        } else if (rule->kind == MOCK_HANG) {
            verdict.hang = true;
        } else if (verdict.code == NVML_OK) {
            verdict.code = (nvml_return)rule->code;
        }
    }
    return verdict;
}
