/* The six lines for people. */
#ifndef PROBE_REPORT_H
#define PROBE_REPORT_H

#include "measurement.h"
#include <stddef.h>

/* Writes the six lines, NUL-terminated. unicode: the reader's terminal shows UTF-8. A text that
 * does not fit is cut. */
void probe_report_format(const probe_measurement *m, bool unicode, char *out, size_t size);

/* The one line, instead, about a final trace that is not where it should be. There is a file_error.
 */
void probe_report_no_trace(const probe_measurement *m, char *out, size_t size);

#endif
