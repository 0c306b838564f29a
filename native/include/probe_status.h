/* One vocabulary for what can go wrong while measuring. */
#ifndef PROBE_STATUS_H
#define PROBE_STATUS_H

#include <stddef.h>

typedef enum {
    PROBE_OK = 0,
    PROBE_E_SYSCALL = -1,  /* a system call failed; see sys_errno */
    PROBE_E_ABSENT = -2,   /* this kernel or driver does not provide the figure */
    PROBE_E_FORMAT = -3,   /* text that is not as documented */
    PROBE_E_OVERFLOW = -4, /* a fixed buffer or table was too small */
    PROBE_E_ARGUMENT = -5, /* the caller's input is wrong */
    PROBE_E_DRIVER = -6,   /* NVML refused; see detail */
} probe_status;

/* The first failure, with its place; later ones do not overwrite it. what: a static string. */
typedef struct {
    probe_status status;
    int sys_errno;
    const char *what;
    char detail[224];
} probe_error;

/* Keeps the first failure in error (which may be NULL) and returns status, so that a call site is
 * one line. */
probe_status probe_fail(probe_error *error, probe_status status, int sys_errno, const char *what);

/* As probe_fail, with a detail that is cut to fit. */
probe_status probe_fail_detail(probe_error *error, probe_status status, int sys_errno,
                               const char *what, const char *detail);

#endif
