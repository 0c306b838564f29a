/* The life of one call into the library: is it initialised, what do the rules say, what is logged.
 * Here lives all state of the process, but for the time (mock_clock). */
#ifndef MOCK_CALL_H
#define MOCK_CALL_H

#include "scenario.h"

enum { MOCK_NO_DEVICE = -1, MOCK_UNKNOWN_DEVICE = -2 };

/* Time stamp of T0 with clock=relative: far enough from 0 for a ring of history before it. */
#define MOCK_RELATIVE_BASE_US (100000LL * 1000000)

typedef struct {
    const char *function;
    const mock_scenario *scenario;
    const mock_device *device; /* NULL: none */
    const mock_mig *mig;       /* the instance of it that the call is about; NULL: the whole */
    int64_t index;             /* of the device, or negative */
    int64_t t_ns;              /* when the call was made, since T0 */
    int64_t base_us;           /* time stamp of T0 in the driver's clock */
    int64_t wall_us;           /* T0 in us since 1970 */
    nvml_return rc;            /* NVML_OK: answer; anything else: hand it to mock_call_end */
} mock_call;

/* Starts a call about no device (MOCK_NO_DEVICE) or about a device by its number; `otherwise` is
 * its code when there is no such device. Sleeps or hangs as the rules say. */
mock_call mock_call_begin(const char *function, int64_t index, nvml_return otherwise);

/* The same for an instance (NULL: none) of a device. */
mock_call mock_call_begin_on(const char *function, int64_t index, const mock_mig *mig,
                             nvml_return otherwise);

/* The same for a device handle; for that of a MIG device it is NOT_SUPPORTED. */
mock_call mock_call_begin_handle(const char *function, nvml_device handle);

/* The same for functions that know MIG devices too. */
mock_call mock_call_begin_any_handle(const char *function, nvml_device handle);

/* What the rules say of one value of a call about a whole device. */
nvml_return mock_call_judge_field(const mock_call *call, unsigned int field);

/* Logs the call and returns rc, for `return mock_call_end(&call, rc)`. */
nvml_return mock_call_end(const mock_call *call, nvml_return rc);

/* nvmlInit*: the first one in the process loads the scenario. Later ones and mock_call_shutdown
 * only count. */
nvml_return mock_call_init(const char *function);
nvml_return mock_call_shutdown(const char *function);

/* Virtual time (see mock_clock.h) is t_ns from now on, and T0 lies in it; NVMLMOCK_T0 counts no
 * more. */
void mock_call_set_time(int64_t t_ns);

/* Handles, valid for the life of the process. */
nvml_device mock_device_handle(const mock_device *device);
nvml_device mock_mig_handle(const mock_mig *mig);

/* The time since T0, for calls that wait. */
int64_t mock_call_now_ns(void);

/* The scenario that is played; NULL before it is loaded. */
const mock_scenario *mock_call_scenario(void);

/* The text of a return code. After a scenario was refused, that of NVML_ERROR_UNKNOWN says why: a
 * program whose standard error nobody sees can still show it. Valid as long as the library is
 * loaded. */
const char *mock_call_error_text(nvml_return code);

#endif
