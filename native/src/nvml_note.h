/* Why less could be read. */
#ifndef PROBE_NVML_NOTE_H
#define PROBE_NVML_NOTE_H

#include "gpu_page.h"

/* Adds a text to the snapshot's note, once; what does not fit is cut. detail may be empty. */
void nvml_note(probe_gpu_snapshot *snapshot, const char *text, const char *detail);

/* A device stopped answering while the driver goes on. */
void nvml_note_lost(probe_gpu_snapshot *snapshot, const probe_gpu_device *device);

#endif
