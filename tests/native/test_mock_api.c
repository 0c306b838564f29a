/* The mock's functions as C programs call them, in virtual time. Buffers are as long as the sizes
 * that go with them and lie on the heap, so that a sanitizer sees a write behind them. */
#include "api.h"
#include "check.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static const long long second_ns = 1000000000;

static const char *const scenario =
    "driver period_ms=1000 ring=20 accounting=1 clock=boot\n"
    "device 0 gpm=1\n"
    "device 1 gpm=1\n"
    "mig 0 1 gi=4 ci=2 mem_mib=100\n"
    "series 0.1 util linear 0 0 10 100\n"
    "series 0.1 sm 5 80\n"
    "series 1 util linear 0 0 10 100\n"
    "series 1 dram 0 12.5 4 25\n"
    "series 1 retired 3 2\n"
    "series 1 ecc_dbe 3 1\n"
    "proc 1 pid=11 sm=50 mem_mib=7\n"
    "proc 1 pid=12 sm=25 t0=1 t1=3\n"
    "event 1 t=3 type=xid data=63\n"
    "event 1 t=9 type=ecc_dbe\n"
    "fail nvmlDeviceGetFieldValues field=190 from=6 code=GPU_IS_LOST\n"
    "series 1 clock_sm 0 1500 19.5 1000\n";

static void use_scenario(char path[]) {
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, scenario, strlen(scenario)), strlen(scenario));
    CHECK_INT(close(fd), 0);
    CHECK_INT(setenv("NVMLMOCK_SCENARIO", path, 1), 0);
}

static void at_ms(long long ms) {
    nvmlMockSetTime(ms * (second_ns / 1000));
}

/* The value of one metric between two times of a handle; the code is checked. */
static double mean(nvml_device handle, unsigned int metric, long long from_ms, long long to_ms,
                   nvml_return rc) {
    static nvml_gpm_metrics both; /* too large for a stack */
    nvml_gpm_metrics *request = &both;
    memset(request, 0xa5, sizeof *request);
    request->version = NVML_GPM_VERSION;
    request->count = 1;
    request->metrics[0].metric_id = metric;
    CHECK_INT(nvmlGpmSampleAlloc(&request->sample1), NVML_OK);
    CHECK_INT(nvmlGpmSampleAlloc(&request->sample2), NVML_OK);
    at_ms(from_ms);
    CHECK_INT(nvmlGpmSampleGet(handle, request->sample1), NVML_OK);
    at_ms(to_ms);
    CHECK_INT(nvmlGpmSampleGet(handle, request->sample2), NVML_OK);
    CHECK_INT(nvmlGpmMetricsGet(request), NVML_OK);
    CHECK_INT(request->metrics[0].rc, rc);
    CHECK_INT(nvmlGpmSampleFree(request->sample1), NVML_OK);
    CHECK_INT(nvmlGpmSampleFree(request->sample2), NVML_OK);
    /* A caller that was built with an older header has no room for more. */
    const unsigned char *next = (const unsigned char *)&request->metrics[1];
    CHECK(next[0] == 0xa5 && memcmp(next, next + 1, sizeof *request->metrics * 475) == 0);
    return request->metrics[0].value;
}

static void a_difference_of_counters_is_the_exact_mean(nvml_device whole, nvml_device mig) {
    CHECK(mean(whole, NVML_GPM_GRAPHICS_UTIL, 2000, 6000, NVML_OK) == 40.0);
    CHECK(mean(whole, NVML_GPM_GRAPHICS_UTIL, 0, 2500, NVML_OK) == 12.5);
    CHECK(mean(whole, NVML_GPM_DRAM_BW_UTIL, 3000, 5000, NVML_OK) == 18.75);
    CHECK(mean(mig, NVML_GPM_SM_UTIL, 4000, 6000, NVML_OK) == 40.0);
    CHECK(mean(mig, NVML_GPM_GRAPHICS_UTIL, 8000, 12000, NVML_OK) == 95.0);
    (void)mean(whole, NVML_GPM_SM_UTIL, 0, 1000, NVML_E_NOT_SUPPORTED);
    (void)mean(whole, 0, 0, 1000, NVML_E_INVALID_ARGUMENT);
}

static void samples_run_out(nvml_device whole) {
    void *samples[257];
    int got = 0;
    while (got < 257 && nvmlGpmSampleAlloc(&samples[got]) == NVML_OK) {
        got++;
    }
    CHECK_INT(got, 256);
    CHECK_INT(nvmlGpmSampleAlloc(&samples[0]), NVML_E_MEMORY);
    CHECK_INT(nvmlGpmSampleGet(whole, NULL), NVML_E_INVALID_ARGUMENT);
    for (int i = 0; i < got; i++) {
        CHECK_INT(nvmlGpmSampleFree(samples[i]), NVML_OK);
    }
    CHECK_INT(nvmlGpmSampleFree(NULL), NVML_E_INVALID_ARGUMENT);
}

static void lists_fill_no_more_than_they_may(nvml_device whole) {
    unsigned int count = 1;
    at_ms(2000);
    nvml_process_info *one = malloc(sizeof *one), *two = malloc(2 * sizeof *two);
    CHECK(one != NULL && two != NULL);
    CHECK_INT(nvmlDeviceGetComputeRunningProcesses_v3(whole, &count, one),
              NVML_E_INSUFFICIENT_SIZE);
    CHECK_INT(count, 2);
    CHECK_INT(nvmlDeviceGetComputeRunningProcesses_v3(whole, &count, two), NVML_OK);
    CHECK(two != NULL && two[1].pid == 12);
    count = 5;
    CHECK_INT(nvmlDeviceGetComputeRunningProcesses_v3(whole, &count, NULL),
              NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlDeviceGetComputeRunningProcesses_v3(whole, NULL, two), NVML_E_INVALID_ARGUMENT);
    free(one);
    free(two);
    nvml_process_sample *records = malloc(2 * sizeof *records);
    count = 1;
    CHECK_INT(nvmlDeviceGetProcessUtilization(whole, records, &count, 0), NVML_E_INSUFFICIENT_SIZE);
    CHECK_INT(count, 100);
    count = 2;
    CHECK_INT(nvmlDeviceGetProcessUtilization(whole, records, &count, 0), NVML_OK);
    CHECK_INT(count, 2);
    free(records);
    unsigned int *pids = malloc(sizeof *pids);
    count = 1;
    CHECK_INT(nvmlDeviceGetAccountingPids(whole, &count, pids), NVML_E_INSUFFICIENT_SIZE);
    CHECK_INT(count, 2);
    free(pids);
}

static void pages_and_errors_are_counted(nvml_device whole) {
    enum { UNCORRECTED = 1 };
    unsigned int count = 1;
    unsigned long long *pages = malloc(2 * sizeof *pages), errors = 9;
    at_ms(4000);
    CHECK_INT(nvmlDeviceGetRetiredPages(whole, UNCORRECTED, &count, pages),
              NVML_E_INSUFFICIENT_SIZE);
    CHECK_INT(count, 2);
    CHECK_INT(nvmlDeviceGetRetiredPages(whole, UNCORRECTED, &count, pages), NVML_OK);
    free(pages);
    CHECK_INT(nvmlDeviceGetTotalEccErrors(whole, UNCORRECTED, 0, &errors), NVML_OK);
    CHECK_INT(errors, 1);
    CHECK_INT(nvmlDeviceGetTotalEccErrors(whole, 2, 0, &errors), NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlDeviceGetMemoryErrorCounter(whole, 0, 0, 8, &errors), NVML_E_INVALID_ARGUMENT);
}

static void a_wait_for_events_moves_virtual_time_on(nvml_device whole) {
    void *set = NULL;
    nvml_event_data data = {0};
    at_ms(1000);
    CHECK_INT(nvmlEventSetCreate(&set), NVML_OK);
    CHECK_INT(nvmlDeviceRegisterEvents(whole, NVML_EVENT_XID, set), NVML_OK);
    CHECK_INT(nvmlEventSetWait_v2(set, &data, 1500), NVML_E_TIMEOUT);
    CHECK_INT(nvmlEventSetWait_v2(set, &data, 1000), NVML_OK);
    CHECK_INT(data.data, 63);
    CHECK(data.device == whole);
    at_ms(20000);
    CHECK_INT(nvmlEventSetWait_v2(set, &data, 0), NVML_E_TIMEOUT); /* not listened to */
    CHECK_INT(nvmlEventSetWait_v2(set, NULL, 0), NVML_E_INVALID_ARGUMENT);
    CHECK_INT(nvmlEventSetFree(set), NVML_OK);
    CHECK_INT(nvmlEventSetWait_v2(set, &data, 0), NVML_E_INVALID_ARGUMENT);
}

static void field_values_are_stamped_in_wall_clock_time(nvml_device whole) {
    nvml_field_value *fields = calloc(2, sizeof *fields);
    CHECK(fields != NULL);
    if (fields != NULL) {
        at_ms(5000);
        fields[0].field_id = 83;
        fields[1].field_id = 9999;
        CHECK_INT(nvmlDeviceGetFieldValues(whole, 0, fields), NVML_E_INVALID_ARGUMENT);
        CHECK_INT(nvmlDeviceGetFieldValues(whole, 2, fields), NVML_OK);
        CHECK_INT(fields[0].rc, NVML_OK);
        CHECK_INT(fields[0].value.ull, 350000); /* 70 W */
        CHECK_INT(fields[0].timestamp_us, 1800000005000000);
        CHECK_INT(fields[1].rc, NVML_E_NOT_SUPPORTED);
        fields[1].field_id = 190;
        CHECK_INT(nvmlDeviceGetFieldValues(whole, 2, fields), NVML_OK);
        CHECK_INT(fields[1].rc, NVML_OK);
        at_ms(6000);
        CHECK_INT(nvmlDeviceGetFieldValues(whole, 2, fields), NVML_OK);
        CHECK_INT(fields[0].rc, NVML_OK);
        CHECK_INT(fields[1].rc, NVML_E_GPU_IS_LOST); /* one of them, and the call succeeds */
    }
    free(fields);
}

static void rings_of_clocks_and_power(nvml_device whole) {
    nvml_sample samples[20];
    unsigned int count = 20;
    int type = 0;
    at_ms(20000);
    CHECK_INT(nvmlDeviceGetSamples(whole, NVML_SAMPLES_SM_CLOCK, 0, &type, &count, samples),
              NVML_OK);
    CHECK_INT(count, 20);
    CHECK_INT(samples[18].value.ui, 1500);
    CHECK_INT(samples[19].value.ui, 1250);
    CHECK_INT(nvmlDeviceGetSamples(whole, NVML_SAMPLES_TOTAL_POWER, 0, &type, &count, samples),
              NVML_E_NOT_SUPPORTED); /* the scenario has no such series for this device */
}

int main(void) {
    char path[] = "/tmp/test_mock_api_XXXXXX";
    nvml_device parent = NULL, whole = NULL, mig = NULL;
    use_scenario(path);
    nvmlMockSetTime(0);
    CHECK_INT(nvmlInit_v2(), NVML_OK);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(nvmlDeviceGetHandleByIndex_v2(0, &parent), NVML_OK);
    CHECK_INT(nvmlDeviceGetHandleByIndex_v2(1, &whole), NVML_OK);
    CHECK_INT(nvmlDeviceGetMigDeviceHandleByIndex(parent, 1, &mig), NVML_OK);
    a_difference_of_counters_is_the_exact_mean(whole, mig);
    samples_run_out(whole);
    lists_fill_no_more_than_they_may(whole);
    pages_and_errors_are_counted(whole);
    a_wait_for_events_moves_virtual_time_on(whole);
    field_values_are_stamped_in_wall_clock_time(whole);
    rings_of_clocks_and_power(whole);
    return check_failures();
}
