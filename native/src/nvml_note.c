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
