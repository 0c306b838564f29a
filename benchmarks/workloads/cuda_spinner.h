/* One kernel that keeps one CUDA device busy, through the driver's library alone: it is loaded at
 * run time and the kernel is PTX, so neither building nor running needs the CUDA toolkit. */
#ifndef DUTY_CUDA_SPINNER_H
#define DUTY_CUDA_SPINNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int cuda_result; /* 0: success */

/* The driver's functions; error_text is NULL where the driver has none. */
typedef struct {
    cuda_result (*init)(unsigned int);
    cuda_result (*error_text)(cuda_result, const char **);
    cuda_result (*device_count)(int *);
    cuda_result (*device_get)(int *, int);
    cuda_result (*device_name)(char *, int, int);
    cuda_result (*device_attribute)(int *, int, int);
    cuda_result (*context_retain)(void **, int);
    cuda_result (*context_release)(int);
    cuda_result (*context_set)(void *);
    cuda_result (*context_synchronize)(void);
    cuda_result (*module_load)(void **, const void *);
    cuda_result (*module_unload)(void *);
    cuda_result (*module_function)(void **, void *, const char *);
    cuda_result (*memory_allocate)(uint64_t *, size_t);
    cuda_result (*memory_set)(uint64_t, unsigned char, size_t);
    cuda_result (*memory_free)(uint64_t);
    cuda_result (*launch)(void *, unsigned int, unsigned int, unsigned int, unsigned int,
                          unsigned int, unsigned int, unsigned int, void *, void **, void **);
} cuda_api;

typedef struct {
    cuda_api api;
    int device;
    bool retained; /* the device's primary context */
    void *module;
    void *kernel;
    uint64_t memory; /* device pointer; 0: none */
    int multiprocessors;
    char name[96];
    char error[256]; /* the first failure: the call, its code and the driver's words */
} cuda_spinner;

typedef enum {
    CUDA_READY,
    CUDA_ABSENT, /* there is no driver or no device that could be used: error says why */
    CUDA_FAILED, /* there is a device, and it failed */
} cuda_outcome;

/* Prepares the first device. Whatever comes back, cuda_spinner_close is the counterpart. */
cuda_outcome cuda_spinner_open(cuda_spinner *spinner);

/* Fills that much device memory and keeps it. At most once. */
bool cuda_spinner_hold(cuda_spinner *spinner, size_t bytes);

/* Keeps every one of blocks x threads busy for ns nanoseconds of the device's global timer; returns
 * when they have ended. (Blocks that do not fit on the device at once run one after another.) */
bool cuda_spinner_run(cuda_spinner *spinner, unsigned int blocks, unsigned int threads,
                      uint64_t ns);

/* Gives back what the device holds. False if that failed; an earlier failure stays in error. */
bool cuda_spinner_close(cuda_spinner *spinner);

#endif
