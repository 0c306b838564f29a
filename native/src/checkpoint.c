#include "checkpoint.h"

#include "clock.h"
#include <stddef.h>

static const int64_t early_s[] = {1, 2, 5, 10, 20, 30};

int64_t probe_checkpoint_after(int64_t elapsed_ns, uint64_t random) {
    for (size_t i = 0; i < sizeof early_s / sizeof early_s[0]; i++) {
        if (early_s[i] * PROBE_NS_PER_S > elapsed_ns) {
            return early_s[i] * PROBE_NS_PER_S;
        }
    }
    int64_t step = elapsed_ns / 100;
    step = step > 30 * PROBE_NS_PER_S ? step : 30 * PROBE_NS_PER_S;
    step = step < 300 * PROBE_NS_PER_S ? step : 300 * PROBE_NS_PER_S;
    return elapsed_ns + step / 1000 * (900 + (int64_t)(random % 201));
}

uint64_t probe_checkpoint_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15U; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}
