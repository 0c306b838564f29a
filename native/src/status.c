#include "probe_status.h"

#include <stdio.h>

probe_status probe_fail_detail(probe_error *error, probe_status status, int sys_errno,
                               const char *what, const char *detail) {
    if (error != NULL && error->status == PROBE_OK) {
        error->status = status;
        error->sys_errno = sys_errno;
        error->what = what;
        (void)snprintf(error->detail, sizeof error->detail, "%s", detail == NULL ? "" : detail);
    }
    return status;
}

probe_status probe_fail(probe_error *error, probe_status status, int sys_errno, const char *what) {
    return probe_fail_detail(error, status, sys_errno, what, NULL);
}
