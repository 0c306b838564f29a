#include "accounting.h"
#include "check.h"
#include "processes.h"

#include <unistd.h>

#define MS 1000000LL

static mock_scenario scenario; /* too large for a stack */
static char error[MOCK_ERROR_SIZE];

static bool read_text(const char *text) {
    FILE *file = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
    if (file == NULL) {
        return false;
    }
    error[0] = '\0';
    bool good = mock_scenario_read(file, "s.txt", &scenario, error);
    (void)fclose(file);
    return good;
}

static mock_process_query at_ms(int64_t ms) {
    return (mock_process_query){.scenario = &scenario, .t_ns = ms * MS, .base_us = 1000000};
}

static void a_list_is_cut_at_its_capacity(void) {
    CHECK(read_text("device 0\ndevice 1\nproc 1 pid=9\n"
                    "proc 0 pid=1 t1=2\nproc 0 pid=2 t0=1 mem_mib=3\nproc 0 pid=3 kind=mps\n"));
    nvml_process_detail out[3] = {{0}};
    mock_process_query query = at_ms(1000);
    CHECK_INT(mock_process_list(&query, NVML_PROCESSES_COMPUTE, out, 1), 2);
    CHECK_INT(out[0].pid, 1);
    CHECK_INT(out[1].pid, 0);
    query = at_ms(2000); /* the end is exclusive */
    CHECK_INT(mock_process_list(&query, NVML_PROCESSES_COMPUTE, out, 3), 1);
    CHECK_INT(out[0].pid, 2);
    CHECK_INT(out[0].used_gpu_memory, 3 << 20);
    CHECK_INT(mock_process_list(&query, NVML_PROCESSES_MPS, out, 3), 1);
    CHECK_INT(mock_process_list(&query, NVML_PROCESSES_GRAPHICS, NULL, 0), 0);
}

static void utilisation_covers_only_what_the_ring_holds(void) {
    nvml_process_sample out[MOCK_RECORDS_MAX];
    CHECK(read_text("driver period_ms=100 ring=4\ndevice 0\n"
                    "proc 0 pid=1 t1=0.1 sm=100\nproc 0 pid=2 t0=0.25 t1=0.35 sm=99.99\n"));
    mock_process_query query = at_ms(420);
    CHECK_INT(mock_process_utilization(&query, 0, out), 2); /* entries 1 to 4 */
    CHECK_INT(out[0].sm, 25);
    CHECK_INT(out[0].timestamp_us, 1100000);
    CHECK_INT(out[1].sm, 24);
    CHECK_INT(out[1].timestamp_us, 1400000);
    query = at_ms(500);
    CHECK_INT(mock_process_utilization(&query, 0, out), 1); /* entries 2 to 5 */
    CHECK_INT(out[0].pid, 2);
    CHECK_INT(mock_process_utilization(&query, 1400000, out), 0);
    CHECK_INT(mock_process_utilization(&query, 1500000, out), 0);
    CHECK_INT(mock_process_utilization(&query, UINT64_MAX, out), 0);
}

static void accounting_of_memory_that_is_not_known(void) {
    CHECK(read_text("device 0\nproc 0 pid=1 mem=na\nproc 0 pid=2 peak_mib=9 peak_t=1 t1=1\n"));
    mock_process_query query = at_ms(1000);
    nvml_accounting_stats stats;
    CHECK(mock_accounting_stats(&query, 1, &stats));
    CHECK(stats.max_memory == NVML_VALUE_NOT_AVAILABLE);
    CHECK(mock_accounting_stats(&query, 2, &stats));
    CHECK_INT(stats.max_memory, 0); /* the peak is not within its life */
    CHECK_INT(stats.time_ms, 1000);
    CHECK(!mock_accounting_stats(&query, 0, &stats));
    unsigned int pids[1];
    CHECK_INT(mock_accounting_pids(&query, pids, 1), 2);
}

static void the_calling_process_has_its_own_pid(void) {
    CHECK(read_text("device 0\nproc 0 pid=self\nproc 0 pid=foreign\n"));
    CHECK_INT(mock_process_pid(&scenario, &scenario.processes[0]), getpid());
    CHECK(mock_process_pid(&scenario, &scenario.processes[1]) > 1U << 22);
}

static void mistakes_are_refused(void) {
    CHECK(!read_text("device 0\nproc 0 pid=parent\n"));
    CHECK_STR(error,
              "s.txt:2: pid=parent: allowed is a number from 1 to 2147483647, self, child or "
              "foreign");
    CHECK(!read_text("device 0\nproc 0 pid=1 kind=c\n"));
    CHECK_STR(error, "s.txt:2: kind=c: allowed is compute|graphics|mps|both");
    CHECK(!read_text("driver process_stride=20\n"));
    CHECK_STR(error, "s.txt:1: process_stride=20: allowed is 16|24|32");
    CHECK(!read_text("device 0\ngarbage records 1\n"));
    CHECK_STR(error, "s.txt:2: 1: not the number of a device declared above this line");
}

int main(void) {
    a_list_is_cut_at_its_capacity();
    utilisation_covers_only_what_the_ring_holds();
    accounting_of_memory_that_is_not_known();
    the_calling_process_has_its_own_pid();
    mistakes_are_refused();
    return check_failures();
}
