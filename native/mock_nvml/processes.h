/* The processes on a device: who runs, how busy each one was. Pure functions of scenario and time,
 * but for self and child, which are looked up among the processes of this machine. */
#ifndef MOCK_PROCESSES_H
#define MOCK_PROCESSES_H

#include "scenario.h"

/* Values of kind=; both is compute and graphics. */
#define MOCK_PROCESS_KINDS "compute|graphics|mps|both"

enum {
    MOCK_RECORDS_MAX = MOCK_PROCESSES_MAX + 3, /* with what garbage adds */
    MOCK_UTILIZATION_SLOTS = 100, /* records that the driver's buffer has, whoever runs */
};

/* What a query is about. */
typedef struct {
    const mock_scenario *scenario;
    int64_t device;
    const mock_mig *mig;   /* only what runs on this instance; NULL: everything */
    int64_t t_ns, base_us; /* now, and the time stamp of T0 */
} mock_process_query;

/* The pid that a process of the scenario has now; 0: it is a child that does not exist. */
unsigned int mock_process_pid(const mock_scenario *scenario, const mock_process *process);

/* The processes of one NVML_PROCESSES_* list that run now, as far as they fit. Returns how many
 * run. */
unsigned int mock_process_list(const mock_process_query *query, unsigned int list,
                               nvml_process_detail *out, unsigned int capacity);

/* One record for each process that ran in the periods that the ring still holds and that ended
 * after last_seen_us: its means over all of them, in whole percent. Writes at most
 * MOCK_RECORDS_MAX records to out and returns their number. */
unsigned int mock_process_utilization(const mock_process_query *query,
                                      unsigned long long last_seen_us, nvml_process_sample *out);

#endif
