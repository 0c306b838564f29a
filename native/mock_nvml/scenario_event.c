#include "scenario_lines.h"

#include <inttypes.h>
#include <stddef.h>

bool mock_read_event(mock_line *line, mock_scenario *scenario) {
    static const mock_field FIELDS[] = {
        {"t", MOCK_FIELD_TIME, offsetof(mock_event, t_ns), 0, MOCK_TIME_MAX_S, NULL},
        {"type", MOCK_FIELD_CHOICE, offsetof(mock_event, type), 0, 0, MOCK_EVENT_TYPES},
        {"data", MOCK_FIELD_INTEGER, offsetof(mock_event, data), 0, UINT32_MAX, NULL},
        {"mig", MOCK_FIELD_INTEGER, offsetof(mock_event, mig), 0, MOCK_MIG_INDEX_MAX, NULL},
        {0}};
    if (scenario->event_count == MOCK_EVENTS_MAX) {
        return mock_complain(line, "event: at most %d are allowed", MOCK_EVENTS_MAX);
    }
    mock_event *event = &scenario->events[scenario->event_count];
    *event = (mock_event){.mig = -1, .t_ns = -1, .type = -1};
    if (!mock_read_device_number(line, scenario, &event->device) ||
        !mock_read_fields(line, FIELDS, event)) {
        return false;
    }
    if (event->t_ns < 0 || event->type < 0) {
        return mock_complain(line, "event: t= or type= is missing");
    }
    if (event->mig >= 0 && mock_scenario_mig(scenario, event->device, event->mig) == NULL) {
        return mock_complain(line, "mig=%" PRId64 ": not an instance declared above this line",
                             event->mig);
    }
    scenario->event_count++;
    return true;
}
