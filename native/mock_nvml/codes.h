/* NVML's return codes: number, name in a scenario file, text of nvmlErrorString. */
#ifndef MOCK_CODES_H
#define MOCK_CODES_H

#include "nvml_types.h"
#include <stdbool.h>

/* NVML's sentence for a code; "Unknown Error" for one that is not listed. Static storage. */
const char *mock_code_text(nvml_return code);

/* Accepts GPU_IS_LOST, NVML_ERROR_GPU_IS_LOST or a number from 1 to 999. */
bool mock_code_parse(const char *text, nvml_return *code);

#endif
