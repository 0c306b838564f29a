/* One kernel that keeps a device busy for a time that is known. */
#ifndef WORKLOAD_CUDA_SPINNER_H
#define WORKLOAD_CUDA_SPINNER_H

#include "cuda_driver.h"

typedef struct {
    cuda_driver *driver;
    void *kernel;
    void *begin; /* events around the kernel; NULL: none */
    void *end;
    unsigned int blocks;
    unsigned int threads;
    double ratio; /* the time that a kernel took, over the time that it was to take */
} cuda_spinner;

/* Loads the kernel, runs it once so that nothing is loaded later, and compares its time with the
 * device's own: a kernel that ends early is a failure. The driver stays the caller's and must
 * outlive the spinner. Whatever comes back, cuda_spinner_close is the counterpart. */
bool cuda_spinner_open(cuda_spinner *spinner, cuda_driver *driver, unsigned int blocks,
                       unsigned int threads);

/* Keeps every one of blocks x threads busy for ns nanoseconds of the device's global timer; returns
 * when they have ended. Adds what the device itself says that the kernel took. (Blocks that do not
 * fit on the device at once run one after another: ratio is 2 or more then.) */
bool cuda_spinner_run(cuda_spinner *spinner, uint64_t ns, int64_t *kernel_ns);

/* Gives the events back. */
bool cuda_spinner_close(cuda_spinner *spinner);

#endif
