#include "busy_span.h"

void probe_busy_span_add(probe_busy_span *span, int64_t from_ns, int64_t to_ns, bool busy) {
    from_ns = from_ns > 0 ? from_ns : 0;
    if (to_ns <= from_ns || to_ns <= span->known_ns) {
        return;
    }
    if (from_ns > span->known_ns) {
        span->idle_since_ns = from_ns;
    }
    span->known_ns = to_ns;
    if (busy) {
        span->first_busy_ns = span->any_busy ? span->first_busy_ns : from_ns;
        span->any_busy = true;
        span->idle_since_ns = to_ns;
        return;
    }
    int64_t idle_ns = to_ns - span->idle_since_ns;
    span->longest_idle_ns = idle_ns > span->longest_idle_ns ? idle_ns : span->longest_idle_ns;
}

bool probe_busy_span_is_busy(const probe_busy_span *span) {
    return span->any_busy && span->idle_since_ns == span->known_ns;
}
