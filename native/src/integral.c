#include "integral.h"

#include <string.h>

void probe_utilization_add(probe_utilization *sum, int64_t from_ns, int64_t to_ns, double pct) {
    from_ns = from_ns > 0 ? from_ns : 0;
    if (to_ns <= from_ns) {
        return;
    }
    sum->readings++;
    sum->covered_ns += to_ns - from_ns;
    sum->pct_ns += (uint64_t)(pct * (double)(to_ns - from_ns) + 0.5);
    sum->busy_ns += pct > 0 ? to_ns - from_ns : 0;
    uint32_t whole = pct > 0 && pct < 1 ? 1 : (uint32_t)(pct + 0.5);
    sum->peak_pct = whole > sum->peak_pct ? whole : sum->peak_pct;
}

double probe_utilization_mean(const probe_utilization *sum) {
    return sum->covered_ns > 0 ? (double)sum->pct_ns / (double)sum->covered_ns : 0.0;
}

void probe_gauge_add(probe_gauge *gauge, int64_t now_ns, uint64_t bytes) {
    if (gauge->any && now_ns > gauge->last_ns) {
        gauge->twice_byte_ns +=
            (probe_u128)(gauge->last_bytes + bytes) * (uint64_t)(now_ns - gauge->last_ns);
        gauge->held_ns += now_ns - gauge->last_ns;
    }
    gauge->any = true;
    gauge->last_ns = now_ns;
    gauge->last_bytes = bytes;
    gauge->peak_bytes = bytes > gauge->peak_bytes ? bytes : gauge->peak_bytes;
}

void probe_gauge_resume(probe_gauge *gauge, int64_t now_ns, uint64_t bytes) {
    gauge->last_ns = gauge->resumed_ns = now_ns;
    probe_gauge_add(gauge, now_ns, bytes);
}

uint64_t probe_gauge_mean(const probe_gauge *gauge) {
    if (gauge->held_ns <= 0) {
        return gauge->last_bytes;
    }
    return (uint64_t)(gauge->twice_byte_ns / ((uint64_t)gauge->held_ns * 2));
}

/* Makes room for one more by counting the oldest interval as final: an overlap with it that comes
 * later would count twice, which only more than PROBE_UNION_PENDING separate bursts between two
 * settlements can bring about. */
static void settle_oldest(probe_union *u) {
    u->settled_ns += u->to_ns[0] - u->from_ns[0];
    u->count--;
    memmove(u->from_ns, u->from_ns + 1, (size_t)u->count * sizeof u->from_ns[0]);
    memmove(u->to_ns, u->to_ns + 1, (size_t)u->count * sizeof u->to_ns[0]);
}

void probe_union_add(probe_union *u, int64_t from_ns, int64_t to_ns) {
    from_ns = from_ns > 0 ? from_ns : 0;
    if (to_ns <= from_ns) {
        return;
    }
    int first = 0; /* the first pending interval that touches the new one */
    while (first < u->count && u->to_ns[first] < from_ns) {
        first++;
    }
    int last = first; /* one past the last that touches it */
    while (last < u->count && u->from_ns[last] <= to_ns) {
        from_ns = u->from_ns[last] < from_ns ? u->from_ns[last] : from_ns;
        to_ns = u->to_ns[last] > to_ns ? u->to_ns[last] : to_ns;
        last++;
    }
    if (first == last && u->count == PROBE_UNION_PENDING) {
        settle_oldest(u);
        first = first > 0 ? first - 1 : 0;
        last = first;
    }
    size_t tail = (size_t)(u->count - last);
    memmove(u->from_ns + first + 1, u->from_ns + last, tail * sizeof u->from_ns[0]);
    memmove(u->to_ns + first + 1, u->to_ns + last, tail * sizeof u->to_ns[0]);
    u->from_ns[first] = from_ns;
    u->to_ns[first] = to_ns;
    u->count = first + 1 + (int)tail;
}

void probe_union_settle(probe_union *u, int64_t now_ns) {
    while (u->count > 0 && u->to_ns[0] <= now_ns) {
        settle_oldest(u);
    }
    if (u->count > 0 && u->from_ns[0] < now_ns) {
        u->settled_ns += now_ns - u->from_ns[0];
        u->from_ns[0] = now_ns;
    }
}

int64_t probe_union_length(const probe_union *u) {
    int64_t length = u->settled_ns;
    for (int i = 0; i < u->count; i++) {
        length += u->to_ns[i] - u->from_ns[i];
    }
    return length;
}
