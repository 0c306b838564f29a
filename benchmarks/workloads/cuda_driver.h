/* The CUDA driver through its library alone: it is loaded at run time and kernels are PTX, so
 * neither building nor running needs the CUDA toolkit. */
#ifndef WORKLOAD_CUDA_DRIVER_H
#define WORKLOAD_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int cuda_result; /* 0: success */

/* The driver's functions; the optional ones are NULL where the driver does not have them. */
typedef struct {
    cuda_result (*init)(unsigned int);
    cuda_result (*device_count)(int *);
    cuda_result (*device_get)(int *, int);
    cuda_result (*device_name)(char *, int, int);
    cuda_result (*device_attribute)(int *, int, int);
    cuda_result (*context_retain)(void **, int);
    cuda_result (*context_release)(int);
    cuda_result (*context_set)(void *);
    cuda_result (*context_synchronize)(void);
    cuda_result (*module_load)(void **, const void *, unsigned int, int *, void **);
    cuda_result (*module_unload)(void *);
    cuda_result (*module_function)(void **, void *, const char *);
    cuda_result (*memory_info)(size_t *, size_t *);
    cuda_result (*memory_allocate)(uint64_t *, size_t);
    cuda_result (*memory_set)(uint64_t, unsigned char, size_t);
    cuda_result (*memory_to_device)(uint64_t, const void *, size_t);
    cuda_result (*memory_to_host)(void *, uint64_t, size_t);
    cuda_result (*event_create)(void **, unsigned int);
    cuda_result (*event_record)(void *, void *);
    cuda_result (*event_synchronize)(void *);
    cuda_result (*event_elapsed_ms)(float *, void *, void *);
    cuda_result (*event_destroy)(void *);
    cuda_result (*launch)(void *, unsigned int, unsigned int, unsigned int, unsigned int,
                          unsigned int, unsigned int, unsigned int, void *, void **, void **);
    cuda_result (*error_text)(cuda_result, const char **); /* optional */
    cuda_result (*device_uuid)(unsigned char[16], int);    /* optional */
} cuda_api;

typedef struct {
    cuda_api api;
    int device;
    bool retained; /* the device's primary context */
    void *module;  /* NULL: none */
    int multiprocessors;
    char name[96];
    char uuid[48];   /* GPU-..., also that of a MIG instance; empty: not told */
    char error[768]; /* the first failure: the call, its code and the driver's words */
} cuda_driver;

typedef enum {
    CUDA_READY,
    CUDA_ABSENT, /* there is no driver or no device that could be used: error says why */
    CUDA_FAILED, /* there is a device, and it failed */
} cuda_outcome;

/* Makes the primary context of the first device current. Whatever comes back, cuda_driver_close is
 * the counterpart. */
cuda_outcome cuda_driver_open(cuda_driver *driver);

/* True if the call succeeded. Keeps the first failure. */
bool cuda_check(cuda_driver *driver, const char *call, cuda_result result);

/* Loads the module, one for a driver, and finds the kernel in it. */
bool cuda_driver_kernel(cuda_driver *driver, const char *ptx, const char *name, void **kernel);

/* Allocates device memory and fills it, so that it is really there. It stays until the context
 * ends. */
bool cuda_driver_allocate(cuda_driver *driver, size_t bytes, uint64_t *memory);

/* Memory of the whole device that is in use, by whomever. */
bool cuda_driver_used(cuda_driver *driver, size_t *bytes);

/* Gives the context back, and with it all that was made in it. False if that failed; an earlier
 * failure stays in error. */
bool cuda_driver_close(cuda_driver *driver);

#endif
