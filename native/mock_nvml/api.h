/* What libnvidia-ml.so.1 exports, under NVML's own names and with its calling sequences. */
#ifndef MOCK_API_H
#define MOCK_API_H

#include "nvml_types.h"

#define MOCK_API __attribute__((visibility("default")))

/* Ours: a real driver's library does not have these. The version of the mock. */
MOCK_API const char *nvmlMockVersion(void);
/* From now on this process lives in virtual time: it is scenario_ns after T0 until it is set again.
 */
MOCK_API void nvmlMockSetTime(long long scenario_ns);
/* What CLOCK_MONOTONIC (1), CLOCK_REALTIME (0) or CLOCK_BOOTTIME (7) shows, in ns; in virtual time,
 * as the driver's time stamps follow it. */
MOCK_API long long nvmlMockTime(int clock);

MOCK_API nvml_return nvmlInit(void);
MOCK_API nvml_return nvmlInit_v2(void);
MOCK_API nvml_return nvmlInitWithFlags(unsigned int flags);
MOCK_API nvml_return nvmlShutdown(void);
MOCK_API const char *nvmlErrorString(nvml_return code);

MOCK_API nvml_return nvmlSystemGetDriverVersion(char *version, unsigned int length);
MOCK_API nvml_return nvmlSystemGetNVMLVersion(char *version, unsigned int length);
MOCK_API nvml_return nvmlSystemGetCudaDriverVersion(int *version);
MOCK_API nvml_return nvmlSystemGetCudaDriverVersion_v2(int *version);

MOCK_API nvml_return nvmlDeviceGetCount(unsigned int *count);
MOCK_API nvml_return nvmlDeviceGetCount_v2(unsigned int *count);
MOCK_API nvml_return nvmlDeviceGetHandleByIndex(unsigned int index, nvml_device *device);
MOCK_API nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device);
MOCK_API nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device);

MOCK_API nvml_return nvmlDeviceGetName(nvml_device device, char *name, unsigned int length);
MOCK_API nvml_return nvmlDeviceGetUUID(nvml_device device, char *uuid, unsigned int length);
MOCK_API nvml_return nvmlDeviceGetIndex(nvml_device device, unsigned int *index);
MOCK_API nvml_return nvmlDeviceGetPciInfo_v3(nvml_device device, nvml_pci_info *pci);
MOCK_API nvml_return nvmlDeviceIsMigDeviceHandle(nvml_device device, unsigned int *is_mig);
MOCK_API nvml_return nvmlDeviceGetAccountingMode(nvml_device device, unsigned int *mode);
MOCK_API nvml_return nvmlDeviceGetAccountingBufferSize(nvml_device device, unsigned int *size);
MOCK_API nvml_return nvmlDeviceGetAccountingPids(nvml_device device, unsigned int *count,
                                                 unsigned int *pids);
MOCK_API nvml_return nvmlDeviceGetAccountingStats(nvml_device device, unsigned int pid,
                                                  nvml_accounting_stats *stats);
MOCK_API nvml_return nvmlDeviceGetComputeRunningProcesses(nvml_device device, unsigned int *count,
                                                          nvml_process_info_v1 *infos);
MOCK_API nvml_return nvmlDeviceGetComputeRunningProcesses_v2(nvml_device device,
                                                             unsigned int *count,
                                                             nvml_process_info *infos);
MOCK_API nvml_return nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device,
                                                             unsigned int *count,
                                                             nvml_process_info *infos);
MOCK_API nvml_return nvmlDeviceGetGraphicsRunningProcesses(nvml_device device, unsigned int *count,
                                                           nvml_process_info_v1 *infos);
MOCK_API nvml_return nvmlDeviceGetGraphicsRunningProcesses_v2(nvml_device device,
                                                              unsigned int *count,
                                                              nvml_process_info *infos);
MOCK_API nvml_return nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_device device,
                                                              unsigned int *count,
                                                              nvml_process_info *infos);
MOCK_API nvml_return nvmlDeviceGetMPSComputeRunningProcesses(nvml_device device,
                                                             unsigned int *count,
                                                             nvml_process_info_v1 *infos);
MOCK_API nvml_return nvmlDeviceGetMPSComputeRunningProcesses_v2(nvml_device device,
                                                                unsigned int *count,
                                                                nvml_process_info *infos);
MOCK_API nvml_return nvmlDeviceGetMPSComputeRunningProcesses_v3(nvml_device device,
                                                                unsigned int *count,
                                                                nvml_process_info *infos);
MOCK_API nvml_return nvmlDeviceGetRunningProcessDetailList(nvml_device device,
                                                           nvml_process_detail_list *list);
MOCK_API nvml_return nvmlDeviceGetProcessUtilization(nvml_device device,
                                                     nvml_process_sample *samples,
                                                     unsigned int *count,
                                                     unsigned long long last_seen_us);
MOCK_API nvml_return nvmlDeviceGetProcessesUtilizationInfo(nvml_device device,
                                                           nvml_processes_utilization *info);

MOCK_API nvml_return nvmlDeviceGetMigMode(nvml_device device, unsigned int *current,
                                          unsigned int *pending);
MOCK_API nvml_return nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned int *count);
MOCK_API nvml_return nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned int index,
                                                         nvml_device *mig_device);
MOCK_API nvml_return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvml_device mig_device,
                                                                  nvml_device *device);
MOCK_API nvml_return nvmlDeviceGetGpuInstanceId(nvml_device device, unsigned int *id);
MOCK_API nvml_return nvmlDeviceGetComputeInstanceId(nvml_device device, unsigned int *id);
MOCK_API nvml_return nvmlDeviceGetAttributes_v2(nvml_device device,
                                                nvml_device_attributes *attributes);

MOCK_API nvml_return nvmlGpmQueryDeviceSupport(nvml_device device, nvml_gpm_support *support);
MOCK_API nvml_return nvmlGpmSampleAlloc(void **sample);
MOCK_API nvml_return nvmlGpmSampleFree(void *sample);
MOCK_API nvml_return nvmlGpmSampleGet(nvml_device device, void *sample);
MOCK_API nvml_return nvmlGpmMigSampleGet(nvml_device device, unsigned int gpu_instance_id,
                                         void *sample);
MOCK_API nvml_return nvmlGpmMetricsGet(nvml_gpm_metrics *metrics);

MOCK_API nvml_return nvmlDeviceGetUtilizationRates(nvml_device device, nvml_utilization *rates);
MOCK_API nvml_return nvmlDeviceGetSamples(nvml_device device, int type,
                                          unsigned long long last_seen_us, int *value_type,
                                          unsigned int *count, nvml_sample *samples);
MOCK_API nvml_return nvmlDeviceGetMemoryInfo(nvml_device device, nvml_memory *memory);
MOCK_API nvml_return nvmlDeviceGetMemoryInfo_v2(nvml_device device, nvml_memory_v2 *memory);
MOCK_API nvml_return nvmlDeviceGetTotalEnergyConsumption(nvml_device device,
                                                         unsigned long long *millijoules);
MOCK_API nvml_return nvmlDeviceGetPowerUsage(nvml_device device, unsigned int *milliwatts);
MOCK_API nvml_return nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned int *milliwatts);
MOCK_API nvml_return nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device,
                                                               unsigned long long *reasons);
MOCK_API nvml_return nvmlDeviceGetCurrentClocksEventReasons(nvml_device device,
                                                            unsigned long long *reasons);
MOCK_API nvml_return nvmlDeviceGetTemperature(nvml_device device, int sensor,
                                              unsigned int *celsius);

MOCK_API nvml_return nvmlDeviceGetTemperatureV(nvml_device device, nvml_temperature *temperature);
MOCK_API nvml_return nvmlDeviceGetClockInfo(nvml_device device, int type, unsigned int *mhz);
MOCK_API nvml_return nvmlDeviceGetMaxClockInfo(nvml_device device, int type, unsigned int *mhz);
MOCK_API nvml_return nvmlDeviceGetEccMode(nvml_device device, unsigned int *current,
                                          unsigned int *pending);
MOCK_API nvml_return nvmlDeviceGetTotalEccErrors(nvml_device device, int error, int counter,
                                                 unsigned long long *count);
MOCK_API nvml_return nvmlDeviceGetMemoryErrorCounter(nvml_device device, int error, int counter,
                                                     int location, unsigned long long *count);
MOCK_API nvml_return nvmlDeviceGetRemappedRows(nvml_device device, unsigned int *corrected,
                                               unsigned int *uncorrected, unsigned int *pending,
                                               unsigned int *failed);
MOCK_API nvml_return nvmlDeviceGetRetiredPages(nvml_device device, int cause, unsigned int *count,
                                               unsigned long long *addresses);
MOCK_API nvml_return nvmlDeviceGetRetiredPages_v2(nvml_device device, int cause,
                                                  unsigned int *count,
                                                  unsigned long long *addresses,
                                                  unsigned long long *timestamps_us);
MOCK_API nvml_return nvmlDeviceGetFieldValues(nvml_device device, int count,
                                              nvml_field_value *values);
MOCK_API nvml_return nvmlEventSetCreate(void **set);
MOCK_API nvml_return nvmlEventSetFree(void *set);
MOCK_API nvml_return nvmlDeviceGetSupportedEventTypes(nvml_device device,
                                                      unsigned long long *types);
MOCK_API nvml_return nvmlDeviceRegisterEvents(nvml_device device, unsigned long long types,
                                              void *set);
MOCK_API nvml_return nvmlEventSetWait_v2(void *set, nvml_event_data *data, unsigned int timeout_ms);
MOCK_API nvml_return nvmlEventSetWait(void *set, nvml_event_data *data, unsigned int timeout_ms);
MOCK_API nvml_return nvmlDeviceGetPciInfo(nvml_device device, void *pci);
MOCK_API nvml_return nvmlDeviceGetPciInfo_v2(nvml_device device, void *pci);
MOCK_API nvml_return nvmlDeviceGetMinorNumber(nvml_device device, unsigned int *minor);
MOCK_API nvml_return nvmlDeviceGetNumaNodeId(nvml_device device, unsigned int *node);
MOCK_API nvml_return nvmlDeviceGetArchitecture(nvml_device device, unsigned int *architecture);
MOCK_API nvml_return nvmlDeviceGetSerial(nvml_device device, char *serial, unsigned int length);
MOCK_API nvml_return nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major, int *minor);
MOCK_API nvml_return nvmlDeviceGetHandleBySerial(const char *serial, nvml_device *device);
MOCK_API nvml_return nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvml_device *device);
MOCK_API nvml_return nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_device *device);
MOCK_API nvml_return nvmlDeviceGetPowerManagementLimit(nvml_device device,
                                                       unsigned int *milliwatts);

#endif
