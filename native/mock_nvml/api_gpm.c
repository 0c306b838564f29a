#include "api.h"

#include "answer.h"
#include "gpm.h"

#include <pthread.h>

enum { SAMPLES_MAX = 256 };

typedef struct {
    bool allocated, taken;
    const mock_device *device;
    const mock_mig *mig;
    int64_t t_ns;
} gpm_sample;

/* The samples that callers hold. Guarded by lock. */
static struct {
    pthread_mutex_t lock;
    gpm_sample samples[SAMPLES_MAX];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void) {
    (void)pthread_mutex_lock(&pool.lock); /* cannot fail for a default mutex */
}

static void unlock(void) {
    (void)pthread_mutex_unlock(&pool.lock);
}

/* Needs the lock. The allocated sample behind a handle, or NULL. */
static gpm_sample *find(const void *handle) {
    for (int i = 0; i < SAMPLES_MAX; i++) {
        if (handle == &pool.samples[i] && pool.samples[i].allocated) {
            return &pool.samples[i];
        }
    }
    return NULL;
}

nvml_return nvmlGpmQueryDeviceSupport(nvml_device device, nvml_gpm_support *support) {
    mock_call call = mock_begin_filling_any("nvmlGpmQueryDeviceSupport", device, support);
    if (call.rc == NVML_OK && support->version != NVML_GPM_VERSION) {
        call.rc = NVML_E_ARGUMENT_VERSION_MISMATCH;
    }
    if (call.rc == NVML_OK) {
        support->is_supported = (unsigned int)call.device->gpm;
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlGpmSampleAlloc(void **sample) {
    mock_call call = mock_call_begin("nvmlGpmSampleAlloc", MOCK_NO_DEVICE, NVML_OK);
    if (call.rc == NVML_OK && sample == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK) {
        call.rc = NVML_E_MEMORY;
        lock();
        for (int i = 0; i < SAMPLES_MAX && call.rc != NVML_OK; i++) {
            if (!pool.samples[i].allocated) {
                pool.samples[i] = (gpm_sample){.allocated = true};
                *sample = &pool.samples[i];
                call.rc = NVML_OK;
            }
        }
        unlock();
    }
    return mock_call_end(&call, call.rc);
}

nvml_return nvmlGpmSampleFree(void *sample) {
    mock_call call = mock_call_begin("nvmlGpmSampleFree", MOCK_NO_DEVICE, NVML_OK);
    if (call.rc == NVML_OK) {
        lock();
        gpm_sample *found = find(sample);
        if (found == NULL) {
            call.rc = NVML_E_INVALID_ARGUMENT;
        } else {
            found->allocated = false;
        }
        unlock();
    }
    return mock_call_end(&call, call.rc);
}

/* Reads the counters of the device, or of an instance of it, into a sample and ends the call. */
static nvml_return take(mock_call *call, const mock_mig *mig, const void *sample) {
    if (call->rc == NVML_OK && call->device->gpm == 0) {
        call->rc = NVML_E_NOT_SUPPORTED;
    }
    if (call->rc == NVML_OK) {
        lock();
        gpm_sample *found = find(sample);
        if (found == NULL) {
            call->rc = NVML_E_INVALID_ARGUMENT;
        } else {
            *found = (gpm_sample){true, true, call->device, mig, call->t_ns};
        }
        unlock();
    }
    return mock_call_end(call, call->rc);
}

nvml_return nvmlGpmSampleGet(nvml_device device, void *sample) {
    mock_call call = mock_call_begin_any_handle("nvmlGpmSampleGet", device);
    return take(&call, call.mig, sample);
}

nvml_return nvmlGpmMigSampleGet(nvml_device device, unsigned int gpu_instance_id, void *sample) {
    mock_call call = mock_call_begin_handle("nvmlGpmMigSampleGet", device);
    const mock_mig *mig = NULL;
    for (int64_t i = 0; call.rc == NVML_OK && i < call.scenario->mig_count && mig == NULL; i++) {
        const mock_mig *m = &call.scenario->migs[i];
        mig = m->device == call.index && m->gi == (int64_t)gpu_instance_id ? m : NULL;
    }
    if (call.rc == NVML_OK && mig == NULL) {
        call.rc = NVML_E_NOT_FOUND;
    }
    return take(&call, mig, sample);
}

/* Copies two samples out. False: they are no two readings of one device, in order. */
static bool copy_samples(const nvml_gpm_metrics *metrics, gpm_sample out[2]) {
    lock();
    const gpm_sample *first = find(metrics->sample1), *second = find(metrics->sample2);
    bool good = first != NULL && second != NULL && first->taken && second->taken &&
                first->device == second->device && first->mig == second->mig &&
                first->t_ns < second->t_ns;
    if (good) {
        out[0] = *first;
        out[1] = *second;
    }
    unlock();
    return good;
}

/* Touches the first `count` metrics only: a caller built with an older header has fewer. */
nvml_return nvmlGpmMetricsGet(nvml_gpm_metrics *metrics) {
    mock_call call = mock_call_begin("nvmlGpmMetricsGet", MOCK_NO_DEVICE, NVML_OK);
    gpm_sample taken[2] = {{0}};
    if (call.rc == NVML_OK && metrics == NULL) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    if (call.rc == NVML_OK && metrics->version != NVML_GPM_VERSION) {
        call.rc = NVML_E_ARGUMENT_VERSION_MISMATCH;
    }
    if (call.rc == NVML_OK &&
        (metrics->count > NVML_GPM_METRIC_MAX || !copy_samples(metrics, taken))) {
        call.rc = NVML_E_INVALID_ARGUMENT;
    }
    for (unsigned int i = 0; call.rc == NVML_OK && i < metrics->count; i++) {
        const mock_series *series =
            taken[0].mig != NULL ? taken[0].mig->series : taken[0].device->series;
        mock_gpm_metric(series, taken[0].t_ns, taken[1].t_ns, &metrics->metrics[i]);
    }
    return mock_call_end(&call, call.rc);
}
