#include "cuda_spinner.h"

#include <stdio.h>

/* Every thread waits until ns nanoseconds of the device's global timer have passed. PTX of an old
 * target runs on every later device. */
static const char spin_ptx[] = ".version 6.0\n"
                               ".target sm_52\n"
                               ".address_size 64\n"
                               ".visible .entry spin(.param .u64 ns)\n"
                               "{\n"
                               "    .reg .u64 %now, %end;\n"
                               "    .reg .pred %early;\n"
                               "    ld.param.u64 %end, [ns];\n"
                               "    mov.u64 %now, %globaltimer;\n"
                               "    add.u64 %end, %end, %now;\n"
                               "again:\n"
                               "    mov.u64 %now, %globaltimer;\n"
                               "    setp.lt.u64 %early, %now, %end;\n"
                               "    @%early bra again;\n"
                               "    ret;\n"
                               "}\n";

/* Long beside the tick of the global timer, which is about a microsecond, and on some devices up to
 * a millisecond. */
static const int64_t trial_ns = 10000000;

static bool compare_clocks(cuda_spinner *s) {
    int64_t took_ns = 0;
    if (!cuda_spinner_run(s, 1, &took_ns)) { /* the first launch loads the kernel */
        return false;
    }
    took_ns = 0;
    if (!cuda_spinner_run(s, (uint64_t)trial_ns, &took_ns)) {
        return false;
    }
    s->ratio = (double)took_ns / (double)trial_ns;
    if (s->ratio < 0.9) {
        (void)snprintf(s->driver->error, sizeof s->driver->error,
                       "a kernel that was to take 10 ms ended after %.3f ms", 10 * s->ratio);
        return false;
    }
    return true;
}

bool cuda_spinner_open(cuda_spinner *s, cuda_driver *driver, unsigned int blocks,
                       unsigned int threads) {
    *s = (cuda_spinner){.driver = driver, .blocks = blocks, .threads = threads};
    return cuda_driver_kernel(driver, spin_ptx, "spin", &s->kernel) &&
           cuda_check(driver, "cuEventCreate", driver->api.event_create(&s->begin, 0)) &&
           cuda_check(driver, "cuEventCreate", driver->api.event_create(&s->end, 0)) &&
           compare_clocks(s);
}

bool cuda_spinner_run(cuda_spinner *s, uint64_t ns, int64_t *kernel_ns) {
    cuda_driver *d = s->driver;
    void *arguments[] = {&ns};
    float ms = 0;
    if (!cuda_check(d, "cuEventRecord", d->api.event_record(s->begin, NULL)) ||
        !cuda_check(d, "cuLaunchKernel",
                    d->api.launch(s->kernel, s->blocks, 1, 1, s->threads, 1, 1, 0, NULL, arguments,
                                  NULL)) ||
        !cuda_check(d, "cuEventRecord", d->api.event_record(s->end, NULL)) ||
        !cuda_check(d, "cuEventSynchronize", d->api.event_synchronize(s->end)) ||
        !cuda_check(d, "cuEventElapsedTime", d->api.event_elapsed_ms(&ms, s->begin, s->end))) {
        return false;
    }
    *kernel_ns += (int64_t)((double)ms * 1e6);
    return true;
}

bool cuda_spinner_close(cuda_spinner *s) {
    bool done = true;
    void *events[] = {s->begin, s->end};
    for (int i = 0; i < 2; i++) {
        if (events[i] != NULL) {
            done = cuda_check(s->driver, "cuEventDestroy_v2",
                              s->driver->api.event_destroy(events[i])) &&
                   done;
        }
    }
    s->begin = s->end = NULL;
    return done;
}
