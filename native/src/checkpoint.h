/* When the running trace is replaced. A SIGKILL leaves no chance for a last word, so the age of the
 * trace bounds what can be lost. Pure arithmetic. */
#ifndef PROBE_CHECKPOINT_H
#define PROBE_CHECKPOINT_H

#include <stdint.h>

/* When the next checkpoint is due after one at elapsed_ns, both since the start: 1, 2, 5, 10, 20
 * and 30 s, then in steps of 1 % of the elapsed time, but at least 30 s and at most 5 min, each up
 * to 10 % shorter or longer, so that the ranks of a job do not all write at once. random: any bits.
 */
int64_t probe_checkpoint_after(int64_t elapsed_ns, uint64_t random);

/* The next of a sequence of random numbers; state: any seed. */
uint64_t probe_checkpoint_random(uint64_t *state);

#endif
