#include "last_words.h"

#include "words.h"
#include <signal.h>
#include <stdio.h>

/* Time limits send a warning first: Slurm's KillWait is 30 s, Kubernetes' and docker's grace as
 * long or shorter. */
static const int64_t warned_recently_ms = 90 * 1000;
static const double gib = 1073741824.0;

static void add_time(probe_words *w, int64_t ms) {
    long long s = ms / 1000;
    probe_words_add(w, "%02lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

static void add_bytes(probe_words *w, uint64_t bytes) {
    double value = (double)bytes;
    if (value < gib) {
        probe_words_add(w, "%.0f MiB", value / 1048576.0);
    } else if (bytes % (UINT64_C(1) << 30) == 0) {
        probe_words_add(w, "%.0f GiB", value / gib);
    } else {
        probe_words_add(w, "%.1f GiB", value / gib);
    }
}

static bool warned(const probe_last_words *seen) {
    return seen->warned_signal != 0 && seen->elapsed_ms - seen->warned_ms <= warned_recently_ms;
}

/* An OOM kill in a group with others in it is the task's only if it looks like one: a shell ends
 * with 128+9 when its child was killed. */
static bool was_oom_killed(const probe_last_words *seen) {
    bool looks_like_it = seen->signal == SIGKILL || seen->exit_status == 128 + SIGKILL;
    return seen->oom_kills > 0 && (looks_like_it || !seen->oom_shared);
}

static void add_end(probe_words *w, const probe_last_words *seen) {
    if (seen->signal != 0) {
        probe_words_add(w, "killed by ");
        probe_words_add_signal(w, seen->signal);
    } else {
        probe_words_add(w, "ended with exit status %d", seen->exit_status);
    }
    probe_words_add(w, " at ");
    add_time(w, seen->elapsed_ms);
    if (warned(seen)) {
        long long s = (seen->elapsed_ms - seen->warned_ms + 500) / 1000;
        probe_words_add(w, ", %lld s after a ", s > 0 ? s : 0);
        probe_words_add_signal(w, seen->warned_signal);
    }
}

bool probe_last_words_format(const probe_last_words *seen, char *out, size_t size) {
    bool died = seen->signal != 0 && seen->signal != SIGPIPE;
    bool failed = seen->signal != 0 || seen->exit_status != 0;
    bool gpu_failed = seen->xids > 0 || seen->gpu_lost;
    if (!died && !(failed && (was_oom_killed(seen) || warned(seen) || gpu_failed))) {
        return false;
    }
    probe_words w = {.out = out, .size = size};
    probe_words_add(&w, "gpu-probe: ");
    add_end(&w, seen);
    if (seen->rss_bytes > 0) {
        probe_words_add(&w, ", peak RSS ");
        add_bytes(&w, seen->rss_bytes);
        if (seen->limit_bytes > 0) {
            probe_words_add(&w, " of ");
            add_bytes(&w, seen->limit_bytes);
            probe_words_add(&w, seen->limit_is_hosts ? " (host)" : " (limit)");
        }
    }
    if (was_oom_killed(seen)) {
        probe_words_add(&w, ", %llu oom kill%s", (unsigned long long)seen->oom_kills,
                        seen->oom_kills == 1 ? "" : "s");
    }
    if (seen->vram_total_mib > 0) {
        probe_words_add(&w, ", peak VRAM %.1f of %.1f GiB", (double)seen->vram_used_mib / 1024,
                        (double)seen->vram_total_mib / 1024);
        if (seen->vram_peak_ms > 0) {
            probe_words_add(&w, " at ");
            add_time(&w, seen->vram_peak_ms);
        }
    }
    for (int i = 0; i < seen->xids; i++) {
        probe_words_add(&w, i == 0 ? ", Xid %llu" : " and %llu", (unsigned long long)seen->xid[i]);
    }
    if (seen->gpu_lost) {
        probe_words_add(&w, ", a GPU stopped answering");
    }
    probe_words_add(&w, "\n");
    return true;
}
