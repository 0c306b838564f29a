/* What a return code of NVML's means for what comes next. */
#ifndef PROBE_NVML_CLASSIFY_H
#define PROBE_NVML_CLASSIFY_H

#include "nvml_types.h"

typedef enum {
    NVML_GOOD,
    NVML_FEATURE_ABSENT,
    NVML_TRANSIENT,
    NVML_DEVICE_GONE,
    NVML_LIBRARY_GONE
} nvml_class;

nvml_class nvml_classify(nvml_return code);

#endif
