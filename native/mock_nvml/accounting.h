/* Accounting mode: what the driver remembers of every process since it was loaded. */
#ifndef MOCK_ACCOUNTING_H
#define MOCK_ACCOUNTING_H

#include "processes.h"

/* The pids of all processes that have begun, running or ended, as far as they fit, each once.
 * Returns how many there are. */
unsigned int mock_accounting_pids(const mock_process_query *query, unsigned int *out,
                                  unsigned int capacity);

/* What one of them did. False: there is none with this pid. The start is in us since T0. */
bool mock_accounting_stats(const mock_process_query *query, unsigned int pid,
                           nvml_accounting_stats *stats);

#endif
