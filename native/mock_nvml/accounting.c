#include "accounting.h"

unsigned int mock_accounting_pids(const mock_process_query *query, unsigned int *out,
                                  unsigned int capacity) {
    unsigned int pids[MOCK_PROCESSES_MAX], count = 0;
    for (int64_t i = 0; i < query->scenario->process_count; i++) {
        const mock_process *p = &query->scenario->processes[i];
        bool begun = p->device == query->device && query->t_ns >= p->t0_ns;
        unsigned int pid = begun ? mock_process_pid(query->scenario, p) : 0;
        bool told = pid == 0;
        for (unsigned int j = 0; j < count && !told; j++) {
            told = pids[j] == pid;
        }
        if (!told) {
            if (count < capacity) {
                out[count] = pid;
            }
            pids[count++] = pid;
        }
    }
    return count;
}

/* The most that a phase had allocated until t_ns, in bytes. */
static unsigned long long phase_peak(const mock_process *p, int64_t t_ns) {
    if (p->mem_unknown != 0) {
        return NVML_VALUE_NOT_AVAILABLE;
    }
    bool peaked = p->peak_ns >= p->t0_ns && p->peak_ns < p->t1_ns && p->peak_ns <= t_ns;
    int64_t mib = peaked && p->peak_mib > p->mem_mib ? p->peak_mib : p->mem_mib;
    return (unsigned long long)mib << 20;
}

bool mock_accounting_stats(const mock_process_query *query, unsigned int pid,
                           nvml_accounting_stats *stats) {
    mock_int128 sm = 0, memory = 0;
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    *stats = (nvml_accounting_stats){0};
    for (int64_t i = 0; i < query->scenario->process_count; i++) {
        const mock_process *p = &query->scenario->processes[i];
        if (p->device != query->device || query->t_ns < p->t0_ns ||
            mock_process_pid(query->scenario, p) != pid) {
            continue;
        }
        int64_t end_ns = query->t_ns < p->t1_ns ? query->t_ns : p->t1_ns;
        unsigned long long peak = phase_peak(p, query->t_ns);
        sm += (mock_int128)p->sm_micro * (end_ns - p->t0_ns);
        memory += (mock_int128)p->mem_util_micro * (end_ns - p->t0_ns);
        first_ns = p->t0_ns < first_ns ? p->t0_ns : first_ns;
        last_ns = end_ns > last_ns ? end_ns : last_ns;
        stats->max_memory = peak > stats->max_memory ? peak : stats->max_memory;
        stats->is_running |= query->t_ns < p->t1_ns;
    }
    if (last_ns == INT64_MIN || pid == 0) {
        return false;
    }
    mock_int128 life = (mock_int128)(last_ns - first_ns) * MOCK_MICRO;
    stats->gpu = life == 0 ? 0 : (unsigned int)(sm / life);
    stats->memory = life == 0 ? 0 : (unsigned int)(memory / life);
    stats->time_ms = stats->is_running ? 0 : (unsigned long long)(last_ns - first_ns) / 1000000;
    stats->start_time_us = (unsigned long long)first_ns / 1000;
    return true;
}
