#include "words.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
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

void probe_words_add_signal(probe_words *w, int number) {
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},       {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
        {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},     {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
        {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},     {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
        {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"},     {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
        {SIGXFSZ, "SIGXFSZ"}, {SIGVTALRM, "SIGVTALRM"}, {SIGPROF, "SIGPROF"}, {SIGIO, "SIGIO"},
        {SIGPWR, "SIGPWR"},   {SIGSYS, "SIGSYS"},       {16, "SIGSTKFLT"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].number == number) {
            probe_words_add(w, "%s", names[i].name);
            return;
        }
    }
    probe_words_add(w, "signal %d", number);
}
