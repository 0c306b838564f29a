#include "cgroup_reader.h"

const char *probe_cgroup_key_name(probe_cgroup_key key) {
    static const char *const names[PROBE_CG_COUNT] = {
        [PROBE_CG_MEMORY_CURRENT] = "memory_current",
        [PROBE_CG_MEMORY_PEAK] = "memory_peak",
        [PROBE_CG_MEMORY_RSS] = "memory_rss",
        [PROBE_CG_MEMORY_PEAK_RSS] = "memory_peak_rss",
        [PROBE_CG_CPU_USAGE_USEC] = "cpu_usage_usec",
        [PROBE_CG_CPU_USER_USEC] = "cpu_user_usec",
        [PROBE_CG_CPU_SYSTEM_USEC] = "cpu_system_usec",
        [PROBE_CG_IO_READ_BYTES] = "io_read_bytes",
        [PROBE_CG_IO_WRITE_BYTES] = "io_write_bytes",
        [PROBE_CG_IO_READ_OPS] = "io_read_ops",
        [PROBE_CG_IO_WRITE_OPS] = "io_write_ops",
        [PROBE_CG_MEMORY_LIMIT] = "memory_limit",
        [PROBE_CG_CPU_QUOTA] = "cpu_quota",
        [PROBE_CG_CPU_PERIOD] = "cpu_period",
        [PROBE_CG_MEMORY_OOM_KILLS] = "memory_oom_kills",
        [PROBE_CG_CPU_NR_THROTTLED] = "cpu_nr_throttled",
        [PROBE_CG_CPU_THROTTLED_USEC] = "cpu_throttled_usec",
        [PROBE_CG_CPU_PSI_SOME] = "cpu_psi_some",
        [PROBE_CG_CPU_PSI_FULL] = "cpu_psi_full",
        [PROBE_CG_MEMORY_PSI_SOME] = "memory_psi_some",
        [PROBE_CG_MEMORY_PSI_FULL] = "memory_psi_full",
        [PROBE_CG_IO_PSI_SOME] = "io_psi_some",
        [PROBE_CG_IO_PSI_FULL] = "io_psi_full",
    };
    return names[key];
}
