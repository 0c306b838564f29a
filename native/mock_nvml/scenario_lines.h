/* One reader for each kind of scenario line. Each is called with the line behind its first word and
 * returns false after mock_complain. */
#ifndef MOCK_SCENARIO_LINES_H
#define MOCK_SCENARIO_LINES_H

#include "scenario.h"
#include "scenario_fields.h"

/* The number of a device that an earlier line declared: the next word, or this one (NULL: none). */
bool mock_parse_device_number(const mock_line *line, const mock_scenario *scenario,
                              const char *word, int64_t *device);
bool mock_read_device_number(mock_line *line, const mock_scenario *scenario, int64_t *device);

bool mock_read_process(mock_line *line, mock_scenario *scenario);
/* Also without its domain's leading zeros: 0000:01:00.0. */
bool mock_parse_pci(const char *text, int64_t *domain, int64_t *bus, int64_t *device);

bool mock_read_event(mock_line *line, mock_scenario *scenario);
bool mock_read_device(mock_line *line, mock_scenario *scenario);
bool mock_read_mig(mock_line *line, mock_scenario *scenario);
bool mock_read_series(mock_line *line, mock_scenario *scenario);

/* Faults: all but `garbage` become rules. */
bool mock_read_fail(mock_line *line, mock_scenario *scenario);
bool mock_read_hide(mock_line *line, mock_scenario *scenario);
bool mock_read_delay(mock_line *line, mock_scenario *scenario);
bool mock_read_hang(mock_line *line, mock_scenario *scenario);
bool mock_read_crash(mock_line *line, mock_scenario *scenario);
bool mock_read_lost(mock_line *line, mock_scenario *scenario);
bool mock_read_unload(mock_line *line, mock_scenario *scenario);
bool mock_read_garbage(mock_line *line, mock_scenario *scenario);

#endif
