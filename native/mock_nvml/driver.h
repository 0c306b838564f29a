/* What a driver would answer at a given moment: pure functions of scenario and time. Times are ns
 * since T0 and may be negative; before T0 nothing ran. */
#ifndef MOCK_DRIVER_H
#define MOCK_DRIVER_H

#include "scenario.h"

/* Utilisation is measured in periods of period_ms that end at whole multiples of it, entry k at
 * k periods after T0. This is the newest complete entry at t_ns. */
int64_t mock_entry_newest(const mock_scenario *scenario, int64_t t_ns);

/* Mean of a series over the period of entry k, rounded down to a whole percent, mW or MHz. */
unsigned int mock_entry_mean(const mock_scenario *scenario, const mock_device *device,
                             mock_series_kind kind, int64_t k);

/* The entries that the ring holds at t_ns and that end after last_seen_us (0: all of them). Time
 * stamps are base_us plus the end of the period; a driver has none at or before 0. When more than
 * capacity are there, the oldest are given, so that asking again loses nothing. Returns the number
 * written to out. */
unsigned int mock_ring_read(const mock_scenario *scenario, const mock_device *device,
                            mock_series_kind kind, int64_t t_ns, int64_t base_us,
                            unsigned long long last_seen_us, nvml_sample *out,
                            unsigned int capacity);

/* Bytes in use by tasks, of a MOCK_MEM series: without what the driver reserves. */
unsigned long long mock_memory_used(const mock_series *used, int64_t t_ns);

/* mJ since the driver was loaded, as of the last full 100 ms. */
unsigned long long mock_energy_mj(const mock_device *device, int64_t t_ns);

/* Mean over the last second. */
unsigned int mock_power_average_mw(const mock_device *device, int64_t t_ns);

/* Value of a series at t_ns, rounded down to a whole number. */
int64_t mock_whole(const mock_series *series, int64_t t_ns);

unsigned int mock_temperature_c(const mock_device *device, int64_t t_ns);

unsigned int mock_power_mw(const mock_device *device, int64_t t_ns);

unsigned long long mock_throttle_reasons(const mock_device *device, int64_t t_ns);

#endif
