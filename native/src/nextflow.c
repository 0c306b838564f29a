#include "nextflow.h"

#include "file.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char script[] = ".command.run";

/* The interpreter line of the .command.sh beside a .command.run. */
static bool names_us(const char *run, size_t directory) {
    char path[PATH_MAX], line[1024];
    int n = snprintf(path, sizeof path, "%.*s.command.sh", (int)directory, run);
    if (n <= 0 || (size_t)n >= sizeof path ||
        probe_file_read(AT_FDCWD, path, line, sizeof line, NULL) == PROBE_E_SYSCALL) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    return strncmp(line, "#!", 2) == 0 && strstr(line, "gpu-probe") != NULL;
}

bool probe_nextflow_measures_inside(char **command) {
    for (char **word = command; word[0] != NULL && word[1] != NULL; word++) {
        size_t length = strlen(word[0]), name = sizeof script - 1;
        if (strcmp(word[1], "nxf_trace") == 0 && length >= name &&
            strcmp(word[0] + length - name, script) == 0 &&
            (length == name || word[0][length - name - 1] == '/')) {
            return names_us(word[0], length - name);
        }
    }
    return false;
}
