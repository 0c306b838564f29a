#include "check.h"
#include "checkpoint.h"
#include "clock.h"

static const int64_t s = PROBE_NS_PER_S;

static void the_early_ones_are_fixed(void) {
    const int64_t due_s[] = {1, 2, 5, 10, 20, 30};
    int64_t at = 0;
    for (size_t i = 0; i < sizeof due_s / sizeof due_s[0]; i++) {
        at = probe_checkpoint_after(at, i * 77);
        CHECK_INT(at, due_s[i] * s);
    }
    CHECK_INT(probe_checkpoint_after(4 * s, 0), 5 * s);
}

/* The longest step that may follow a checkpoint. */
static int64_t longest_step(int64_t elapsed) {
    if (elapsed < 30 * s) {
        return 10 * s;
    }
    int64_t step = elapsed / 100;
    step = step < 30 * s ? 30 * s : step;
    step = step > 300 * s ? 300 * s : step;
    return step / 10 * 11;
}

static void later_ones_back_off_within_bounds(void) {
    const int64_t elapsed_s[] = {30, 100, 2999, 3000, 10000, 29999, 30000, 100000, 432000};
    for (size_t i = 0; i < sizeof elapsed_s / sizeof elapsed_s[0]; i++) {
        int64_t longest = longest_step(elapsed_s[i] * s), shortest = longest / 11 * 9;
        int64_t least = INT64_MAX, most = 0;
        for (uint64_t random = 0; random < 201; random++) {
            int64_t step = probe_checkpoint_after(elapsed_s[i] * s, random) - elapsed_s[i] * s;
            CHECK(step >= shortest - 1000000 && step <= longest);
            least = step < least ? step : least;
            most = step > most ? step : most;
        }
        CHECK(least <= shortest + 1000000 && most >= longest - 1000000); /* both bounds are met */
    }
}

/* Five days of a wrapper that looks at its schedule whenever it wakes up, up to 200 ms late. */
static void the_trace_is_never_older_than_a_step_and_200_ms(void) {
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t state = seed;
        int64_t now = 0, written = 0, due = probe_checkpoint_after(0, 0);
        int writes = 0;
        while (now < 5 * 86400 * s) {
            now = due + (int64_t)(probe_checkpoint_random(&state) % 200) * PROBE_NS_PER_MS;
            CHECK(now - written <= longest_step(written) + 200 * PROBE_NS_PER_MS);
            written = now;
            due = probe_checkpoint_after(now, probe_checkpoint_random(&state));
            CHECK(due > now);
            writes++;
        }
        CHECK(writes > 1440 && writes < 2500); /* every 5 min, and more often at first */
    }
}

static void ranks_do_not_write_at_the_same_time(void) {
    int64_t first = 0, last = 0;
    for (uint64_t rank = 0; rank < 64; rank++) {
        uint64_t state = rank;
        int64_t due = probe_checkpoint_after(30 * s, probe_checkpoint_random(&state));
        first = rank == 0 || due < first ? due : first;
        last = due > last ? due : last;
    }
    CHECK(last - first > 4 * s);
}

int main(void) {
    the_early_ones_are_fixed();
    later_ones_back_off_within_bounds();
    the_trace_is_never_older_than_a_step_and_200_ms();
    ranks_do_not_write_at_the_same_time();
    return check_failures();
}
