#include "nvml_note.h"

#include <stdio.h>
#include <string.h>

void nvml_note(probe_gpu_snapshot *snapshot, const char *text, const char *detail) {
    size_t used = strlen(snapshot->note);
    if (strstr(snapshot->note, text) == NULL) {
        (void)snprintf(snapshot->note + used, sizeof snapshot->note - used,
                       detail[0] == '\0' ? "%s%s" : "%s%s: %s", used > 0 ? "; " : "", text, detail);
    }
}

void nvml_note_lost(probe_gpu_snapshot *snapshot, const probe_gpu_device *device) {
    char text[NVML_UUID_SIZE + 64];
    const char *uuid = device->uuid[0] == '\0' ? "no UUID" : device->uuid;
    (void)snprintf(text, sizeof text, "device %d (%.*s) was lost during the task", device->index,
                   NVML_UUID_SIZE, uuid);
    nvml_note(snapshot, text, "");
}
