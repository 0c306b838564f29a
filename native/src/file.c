#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

probe_status probe_file_read(int dirfd, const char *path, char *buf, size_t size, size_t *length) {
    int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return PROBE_E_SYSCALL;
    }
    size_t used = 0;
    probe_status status = probe_file_reread(fd, buf, size, &used);
    int kept = errno;
    (void)close(fd); /* a read-only descriptor of a kernel file: nothing to lose */
    errno = kept;
    if (length != NULL) {
        *length = used;
    }
    return status;
}

probe_status probe_file_reread(int fd, char *buf, size_t size, size_t *length) {
    ssize_t n;
    do {
        n = pread(fd, buf, size - 1, 0);
    } while (n < 0 && errno == EINTR);
    size_t used = n > 0 ? (size_t)n : 0;
    buf[used] = '\0';
    if (length != NULL) {
        *length = used;
    }
    if (n < 0) {
        return PROBE_E_SYSCALL;
    }
    char more;
    return used == size - 1 && pread(fd, &more, 1, (off_t)used) != 0 ? PROBE_E_OVERFLOW : PROBE_OK;
}

bool probe_parse_u64(const char *text, uint64_t *value, const char **end) {
    while (*text == ' ' || *text == '\t') {
        text++;
    }
    if (*text < '0' || *text > '9') {
        return false;
    }
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *value = number;
    if (end != NULL) {
        *end = text;
    }
    return true;
}

bool probe_find_u64(const char *text, const char *key, char separator, uint64_t *value) {
    size_t length = strlen(key);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, length) == 0 && line[length] == separator) {
            return probe_parse_u64(line + length + 1, value, NULL);
        }
        line = strchr(line, '\n');
        if (line != NULL) {
            line++;
        }
    }
    return false;
}

probe_status probe_path_join(char *out, size_t size, const char *directory, const char *name) {
    int n = snprintf(out, size, "%s/%s", directory, name);
    return n < 0 || (size_t)n >= size ? PROBE_E_OVERFLOW : PROBE_OK;
}
