#include "words.h"

#include <stdarg.h>
#include <stdio.h>

void probe_words_add(probe_words *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(w->out + w->used, w->size - w->used, format, arguments);
    va_end(arguments);
    if (n > 0) {
        w->used += (size_t)n < w->size - w->used ? (size_t)n : w->size - w->used - 1;
    }
}
