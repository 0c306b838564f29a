/* Text for people, put together piece by piece in a fixed buffer. */
#ifndef PROBE_WORDS_H
#define PROBE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *out; /* the caller's; always NUL-terminated after the first piece */
    size_t size, used;
    bool unicode; /* the reader's terminal shows UTF-8 */
} probe_words;

/* Adds a piece; what does not fit is cut. */
__attribute__((format(printf, 2, 3))) void probe_words_add(probe_words *w, const char *format, ...);

/* The name of a signal, or "signal 40". */
void probe_words_add_signal(probe_words *w, int number);

#endif
