/* Nextflow's double wrapping: with tracing on, process.shell runs its wrapper script, which runs
 * the task's script by way of the same shell again. */
#ifndef PROBE_NEXTFLOW_H
#define PROBE_NEXTFLOW_H

#include <stdbool.h>

/* Whether command is "... .command.run nxf_trace" and the .command.sh beside it names gpu-probe in
 * its interpreter line: the inner one measures the task without Nextflow's own processes. */
bool probe_nextflow_measures_inside(char **command);

#endif
