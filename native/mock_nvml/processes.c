#include "processes.h"

#include "driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No process of this machine can have such a pid: the kernel's largest is 2^22. */
enum { FOREIGN_BASE = 4200000 };

/* The newest child of a process's first thread, other than `not`; 0: none, or the kernel does not
 * tell. Nothing is allocated. */
static unsigned int newest_child(pid_t parent, unsigned int not ) {
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) {
        (void)close(fd); /* read only: nothing to lose */
    }
    unsigned int newest = 0;
    if (n > 0) {
        text[n] = '\0';
        char *end = text;
        for (const char *word = text; *word != '\0'; word = end) {
            unsigned long pid = strtoul(word, &end, 10);
            if (end == word) {
                break;
            }
            newest = pid == not ? newest : (unsigned int)pid;
        }
    }
    return newest;
}

unsigned int mock_process_pid(const mock_scenario *scenario, const mock_process *process) {
    unsigned int self = (unsigned int)getpid();
    if (process->pid == MOCK_PID_SELF) {
        return self;
    }
    if (process->pid == MOCK_PID_CHILD) {
        unsigned int own = newest_child((pid_t)self, 0);
        return own != 0 ? own : newest_child(getppid(), self);
    }
    if (process->pid == MOCK_PID_FOREIGN) {
        return FOREIGN_BASE + (unsigned int)(process - scenario->processes);
    }
    return (unsigned int)process->pid;
}

/* The bits 1 << NVML_PROCESSES_* of the lists that show a process. */
static unsigned int lists_of(const mock_process *process) {
    static const unsigned int LISTS[] = {
        1U << NVML_PROCESSES_COMPUTE, 1U << NVML_PROCESSES_GRAPHICS, 1U << NVML_PROCESSES_MPS,
        1U << NVML_PROCESSES_COMPUTE | 1U << NVML_PROCESSES_GRAPHICS};
    return LISTS[process->kind];
}

static nvml_process_detail describe(const mock_scenario *scenario, const mock_process *process,
                                    unsigned int pid) {
    const mock_mig *mig = mock_scenario_mig(scenario, process->device, process->mig);
    return (nvml_process_detail){
        .pid = pid,
        .used_gpu_memory = process->mem_unknown != 0 ? NVML_VALUE_NOT_AVAILABLE
                                                     : (unsigned long long)process->mem_mib << 20,
        .gpu_instance_id = mig == NULL ? NVML_NO_INSTANCE : (unsigned int)mig->gi,
        .compute_instance_id = mig == NULL ? NVML_NO_INSTANCE : (unsigned int)mig->ci,
    };
}

unsigned int mock_process_list(const mock_process_query *query, unsigned int list,
                               nvml_process_detail *out, unsigned int capacity) {
    unsigned int running = 0;
    nvml_process_detail first = {.used_gpu_memory = NVML_VALUE_NOT_AVAILABLE};
    for (int64_t i = 0; i < query->scenario->process_count; i++) {
        const mock_process *p = &query->scenario->processes[i];
        unsigned int pid = 0;
        if (p->device != query->device || query->t_ns < p->t0_ns || query->t_ns >= p->t1_ns ||
            (lists_of(p) & 1U << list) == 0 ||
            (query->mig != NULL && p->mig != query->mig->index) ||
            (pid = mock_process_pid(query->scenario, p)) == 0) {
            continue;
        }
        nvml_process_detail record = describe(query->scenario, p, pid);
        first = running == 0 ? record : first;
        if (running < capacity) {
            out[running] = record;
        }
        running++;
    }
    if (query->scenario->devices[query->device].garbage_processes) {
        const nvml_process_detail garbage[] = {first, {.used_gpu_memory = 1}}; /* twice; pid 0 */
        for (unsigned int i = 0; i < 2; i++, running++) {
            if (running < capacity) {
                out[running] = garbage[i];
            }
        }
    }
    return running;
}

/* The periods that a query for utilisation covers: after entry first to entry last. */
typedef struct {
    int64_t first, last, period_ns;
} window;

static window window_since(const mock_process_query *query, unsigned long long last_seen_us) {
    int64_t period_ms = query->scenario->period_ms;
    window w = {.period_ns = period_ms * 1000000,
                .last = mock_entry_newest(query->scenario, query->t_ns)};
    w.first = w.last - query->scenario->ring;
    for (int64_t k = w.first + 1; k <= w.last; k++) {
        int64_t stamp_us = query->base_us + k * period_ms * 1000;
        if (stamp_us <= 0 || (unsigned long long)stamp_us <= last_seen_us) {
            w.first = k;
        }
    }
    return w;
}

/* Adds what the processes of one pid did within the window; false: none of them ran then. */
static bool sum_up(const mock_process_query *query, const window *w, unsigned int pid,
                   nvml_process_sample *record) {
    mock_int128 sm = 0, memory = 0;
    int64_t newest = INT64_MIN, from = w->first * w->period_ns, to = w->last * w->period_ns;
    for (int64_t i = 0; i < query->scenario->process_count; i++) {
        const mock_process *p = &query->scenario->processes[i];
        int64_t begin = p->t0_ns > from ? p->t0_ns : from, end = p->t1_ns < to ? p->t1_ns : to;
        if (p->device != query->device || begin >= end ||
            mock_process_pid(query->scenario, p) != pid) {
            continue;
        }
        sm += (mock_int128)p->sm_micro * (end - begin);
        memory += (mock_int128)p->mem_util_micro * (end - begin);
        int64_t entry = (end + w->period_ns - 1) / w->period_ns;
        newest = entry > newest ? entry : newest;
    }
    mock_int128 whole = (mock_int128)(to - from) * MOCK_MICRO;
    if (newest == INT64_MIN || whole <= 0) {
        return false;
    }
    *record = (nvml_process_sample){
        .pid = pid,
        .timestamp_us = (unsigned long long)(query->base_us + newest * w->period_ns / 1000),
        .sm = (unsigned int)(sm / whole),
        .memory = (unsigned int)(memory / whole)};
    return true;
}

/* What some drivers mix in: impossible figures of no process, an old record, one twice. */
static unsigned int add_garbage(unsigned long long last_seen_us, unsigned long long now_us,
                                nvml_process_sample *out, unsigned int count) {
    nvml_process_sample stale = {.pid = FOREIGN_BASE - 1,
                                 .timestamp_us =
                                     last_seen_us > 1000000 ? last_seen_us - 1000000 : 1,
                                 .sm = 50};
    nvml_process_sample first = count > 0 ? out[0] : stale;
    out[count++] = (nvml_process_sample){.timestamp_us = now_us, .sm = 3000000, .memory = 3000000};
    out[count++] = stale;
    out[count++] = first;
    return count;
}

unsigned int mock_process_utilization(const mock_process_query *query,
                                      unsigned long long last_seen_us, nvml_process_sample *out) {
    window w = window_since(query, last_seen_us);
    unsigned int count = 0;
    for (int64_t i = 0; i < query->scenario->process_count; i++) {
        const mock_process *p = &query->scenario->processes[i];
        unsigned int pid = p->device == query->device ? mock_process_pid(query->scenario, p) : 0;
        bool told = pid == 0;
        for (unsigned int j = 0; j < count && !told; j++) {
            told = out[j].pid == pid;
        }
        if (!told && sum_up(query, &w, pid, &out[count])) {
            count++;
        }
    }
    if (query->scenario->devices[query->device].garbage_records) {
        int64_t now_us = query->base_us + w.last * w.period_ns / 1000;
        count = add_garbage(last_seen_us, (unsigned long long)now_us, out, count);
    }
    return count;
}
