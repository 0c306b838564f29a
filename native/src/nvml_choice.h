/* Which devices belong to the task: asks the driver what there is, and the environment. */
#ifndef PROBE_NVML_CHOICE_H
#define PROBE_NVML_CHOICE_H

#include "nvml_session.h"

/* Opens a reader for each of the task's devices and notes what is to be said of the choice. NVML is
 * initialised. False: an answer failed that may come at another try, so nothing was chosen; the
 * last try makes do with what there is. */
bool nvml_choose_devices(nvml_session *session, bool last_try);

#endif
