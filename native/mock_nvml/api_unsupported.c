/* Every function of NVML that the mock does not play: NOT_SUPPORTED, as on many boards. These are
 * weak definitions, so that a real one elsewhere takes its place. They are declared with the handle
 * alone: on the calling conventions of Linux a callee may ignore the arguments that follow. */
#include "call.h"

#define STUB(function, begun)                                                                      \
    __attribute__((weak, visibility("default"))) nvml_return function(nvml_device handle);         \
    nvml_return function(nvml_device handle) {                                                     \
        (void)handle;                                                                              \
        mock_call call = begun;                                                                    \
        return mock_call_end(&call, call.rc == NVML_OK ? NVML_E_NOT_SUPPORTED : call.rc);          \
    }

#define DEVICE(function, since) STUB(function, mock_call_begin_any_handle(#function, handle))
#define OTHER(function, since) STUB(function, mock_call_begin(#function, MOCK_NO_DEVICE, NVML_OK))
#include "names.def"
