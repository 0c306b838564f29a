/* Reading small kernel files into fixed buffers. */
#ifndef PROBE_FILE_H
#define PROBE_FILE_H

#include "probe_status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the file path below dirfd (AT_FDCWD for none) into buf and terminates it with NUL. The
 * kernel makes such a file up in one piece: one call that returns less than it might have read all
 * of it. length (may be NULL) leaves without the NUL. PROBE_E_OVERFLOW when it does not fit: buf
 * then holds the beginning. PROBE_E_SYSCALL with errno set otherwise. */
probe_status probe_file_read(int dirfd, const char *path, char *buf, size_t size, size_t *length);

/* The same with a file that is open already: from its beginning, wherever its position is. */
probe_status probe_file_reread(int fd, char *buf, size_t size, size_t *length);

/* Parses the decimal number at text (leading blanks allowed). False if there is none or it exceeds
 * 64 bits. end may be NULL. */
bool probe_parse_u64(const char *text, uint64_t *value, const char **end);

/* Finds the line "key<separator>NUMBER" in a kernel file of such lines and returns its number. key
 * is matched whole, from the start of a line; blanks around the number are skipped. */
bool probe_find_u64(const char *text, const char *key, char separator, uint64_t *value);

/* Joins a directory and a name. PROBE_E_OVERFLOW when the result does not fit. */
probe_status probe_path_join(char *out, size_t size, const char *directory, const char *name);

#endif
