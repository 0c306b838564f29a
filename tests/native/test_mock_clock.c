/* The mock's virtual time, for the whole life of one process: it is entered once, and never left.
 */
#include "api.h"
#include "check.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const long long second_ns = 1000000000;

static const char *const scenario = "driver period_ms=100 ring=20\n"
                                    "device 0 mem_mib=100\n"
                                    "series 0 util 0 40\n"
                                    "series 0 mem linear 0 0 100 100\n"
                                    "delay nvmlDeviceGetMemoryInfo_v2 us=2500000\n";

static void use_scenario(char path[]) {
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, scenario, strlen(scenario)), strlen(scenario));
    CHECK_INT(close(fd), 0);
    CHECK_INT(setenv("NVMLMOCK_SCENARIO", path, 1), 0);
    CHECK_INT(setenv("NVMLMOCK_T0", "12345", 1), 0); /* must not count in virtual time */
}

static long long real_ns(clockid_t id) {
    struct timespec t;
    CHECK_INT(clock_gettime(id, &t), 0);
    return t.tv_sec * second_ns + t.tv_nsec;
}

static void time_is_the_machines_at_first(void) {
    const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME};
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        long long before = real_ns(clocks[i]), shown = nvmlMockTime(clocks[i]);
        CHECK(before <= shown && shown <= real_ns(clocks[i]));
    }
}

static unsigned long long newest_stamp_us(nvml_device gpu) {
    nvml_sample samples[20];
    unsigned int count = 20;
    int type = 0;
    CHECK_INT(nvmlDeviceGetSamples(gpu, NVML_SAMPLES_GPU_UTILIZATION, 0, &type, &count, samples),
              NVML_OK);
    CHECK_INT(count, 20);
    return samples[19].timestamp_us;
}

static void clocks_and_time_stamps_follow(nvml_device gpu) {
    for (long long t = 30; t > 0; t -= 29) { /* also backwards */
        nvmlMockSetTime(t * second_ns);
        CHECK_INT(nvmlMockTime(CLOCK_MONOTONIC), (1000000 + t) * second_ns);
        CHECK_INT(nvmlMockTime(CLOCK_BOOTTIME), (1005000 + t) * second_ns);
        CHECK_INT(nvmlMockTime(CLOCK_REALTIME), (1800000000 + t) * second_ns);
        CHECK_INT(newest_stamp_us(gpu), (1800000000 + t) * 1000000);
    }
    nvmlMockSetTime(second_ns + 99999999); /* the period that runs is not complete */
    CHECK_INT(newest_stamp_us(gpu), 1800000001LL * 1000000);
}

static void a_delay_moves_the_time_on(nvml_device gpu) {
    long long before = real_ns(CLOCK_MONOTONIC);
    nvml_memory_v2 memory = {.version = NVML_MEMORY_V2_VERSION};
    nvmlMockSetTime(7 * second_ns);
    CHECK_INT(nvmlDeviceGetMemoryInfo_v2(gpu, &memory), NVML_OK);
    CHECK_INT(memory.used, 7 << 20); /* as of the call */
    CHECK_INT(nvmlMockTime(CLOCK_MONOTONIC), 1000009 * second_ns + second_ns / 2);
    CHECK(real_ns(CLOCK_MONOTONIC) - before < 2 * second_ns); /* nobody slept 2.5 s */
}

int main(void) {
    char path[] = "/tmp/gpu-probe-test-XXXXXX";
    use_scenario(path);
    time_is_the_machines_at_first();
    CHECK_INT(nvmlInit_v2(), NVML_OK); /* loaded in the machine's time, which then ends */
    CHECK_INT(unlink(path), 0);
    nvml_device gpu = NULL;
    CHECK_INT(nvmlDeviceGetHandleByIndex_v2(0, &gpu), NVML_OK);
    clocks_and_time_stamps_follow(gpu);
    a_delay_moves_the_time_on(gpu);
    return check_failures();
}
