/* Temporary files that a killed writer left. Their names say whose they are. */
#ifndef PROBE_TRACE_STRAY_H
#define PROBE_TRACE_STRAY_H

#include "cgroup_remove.h"
#include "proc_reader.h"

/* PROBE_CGROUP_NAME_SIZE has room for the NUL. */
enum { PROBE_TRACE_WRITER_SIZE = PROBE_CGROUP_NAME_SIZE + 9 };

/* This process as a part of the names of its temporary files: "gpu-probe.PID.START.NAMESPACE.BOOT",
 * BOOT being 8 digits, a hash of the boot's id and the host's name. Empty where that is not known.
 */
void probe_trace_stray_sign(const probe_host *host, char writer[PROBE_TRACE_WRITER_SIZE]);

/* Removes from directory the temporary files of writers that have certainly ended: of this boot and
 * PID namespace, as writer says, which is this process's own. Looks at 4096 entries at most. */
void probe_trace_stray_remove(int directory, const char *writer, const char *proc_root);

#endif
