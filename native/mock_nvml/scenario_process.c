#include "scenario_lines.h"

#include "processes.h"

#include <inttypes.h>

bool mock_read_process(mock_line *line, mock_scenario *scenario) {
    static const mock_field FIELDS[] = {
        {"pid", MOCK_FIELD_PID, offsetof(mock_process, pid), 0, 0, NULL},
        {"t0", MOCK_FIELD_TIME, offsetof(mock_process, t0_ns), 0, MOCK_TIME_MAX_S, NULL},
        {"t1", MOCK_FIELD_TIME, offsetof(mock_process, t1_ns), 0, MOCK_TIME_MAX_S, NULL},
        {"mig", MOCK_FIELD_INTEGER, offsetof(mock_process, mig), 0, MOCK_MIG_INDEX_MAX, NULL},
        {"kind", MOCK_FIELD_CHOICE, offsetof(mock_process, kind), 0, 0, MOCK_PROCESS_KINDS},
        {"mem_mib", MOCK_FIELD_INTEGER, offsetof(mock_process, mem_mib), 0, 1 << 24, NULL},
        {"mem", MOCK_FIELD_CHOICE, offsetof(mock_process, mem_unknown), 0, 0, "known|na"},
        {"peak_mib", MOCK_FIELD_INTEGER, offsetof(mock_process, peak_mib), 0, 1 << 24, NULL},
        {"peak_t", MOCK_FIELD_TIME, offsetof(mock_process, peak_ns), 0, MOCK_TIME_MAX_S, NULL},
        {"sm", MOCK_FIELD_MICRO, offsetof(mock_process, sm_micro), 0, 100, NULL},
        {"mem_util", MOCK_FIELD_MICRO, offsetof(mock_process, mem_util_micro), 0, 100, NULL},
        {0}};
    if (scenario->process_count == MOCK_PROCESSES_MAX) {
        return mock_complain(line, "proc: at most %d are allowed", MOCK_PROCESSES_MAX);
    }
    mock_process *process = &scenario->processes[scenario->process_count];
    *process = (mock_process){.t1_ns = INT64_MAX, .mig = -1};
    if (!mock_read_device_number(line, scenario, &process->device) ||
        !mock_read_fields(line, FIELDS, process)) {
        return false;
    }
    if (process->mig >= 0 && mock_scenario_mig(scenario, process->device, process->mig) == NULL) {
        return mock_complain(line, "mig=%" PRId64 ": not an instance declared above this line",
                             process->mig);
    }
    scenario->process_count++;
    return process->pid != 0 || mock_complain(line, "proc: pid= is missing");
}
