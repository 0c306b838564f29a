#include "trace_aside.h"

#include "trace_stray.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void probe_trace_aside_none(probe_trace_aside *aside) {
    aside->wanted = false;
    aside->writer.pid = 0;
}

static void write_there(probe_trace_place *place, const probe_trace_parcel *parcel) {
    probe_trace_file *file = &place->file;
    char name[sizeof file->name], writer[sizeof file->writer];
    memcpy(name, file->name, sizeof name);
    memcpy(writer, file->writer, sizeof writer);
    place->error = (probe_error){0};
    probe_status status =
        probe_trace_file_open_in(file, place->config.workdir, name, &place->error);
    probe_trace_file_sign(file, writer);
    if (status == PROBE_OK) {
        status = probe_trace_file_write(file, parcel->trace, parcel->trace_length, &place->error);
    }
    place->written = status == PROBE_OK;
    if (place->written && !place->swept) {
        probe_trace_stray_remove(file->directory, file->writer, place->config.proc_root);
        place->swept = true;
    }
    probe_trace_file_close(file);
}

static void write_checkpoint(probe_trace_place *place, const probe_trace_parcel *parcel) {
    if (!parcel->final) {
        write_there(place, parcel);
    } else if (place->file.path[0] != '\0') {
        (void)unlink(place->file.path);
    }
}

static void want(probe_trace_aside *aside, const probe_trace_place_config *config,
                 const char *directory, probe_trace_deliver deliver, probe_trace_start start) {
    aside->wanted = true;
    probe_trace_place_none(&aside->place);
    aside->place.config = *config;
    aside->place.config.workdir = directory;
    probe_trace_writer_open(&aside->writer, deliver, start);
}

void probe_trace_aside_copy(probe_trace_aside *aside, const probe_trace_place_config *config,
                            const char *directory, probe_trace_start start) {
    want(aside, config, directory, write_there, start);
    (void)snprintf(aside->place.file.name, sizeof aside->place.file.name, "%s.trace.json",
                   config->run_id);
}

void probe_trace_aside_checkpoints(probe_trace_aside *aside, const probe_trace_place_config *config,
                                   probe_trace_start start) {
    want(aside, config, probe_trace_place_temporary_root(), write_checkpoint, start);
    (void)snprintf(aside->place.file.name, sizeof aside->place.file.name, "gpu-probe.%s.json",
                   config->run_id);
}

static void be_late(probe_trace_aside *aside) {
    const char *path = aside->place.file.path;
    aside->place.error = (probe_error){0};
    (void)probe_fail_detail(&aside->place.error, PROBE_E_SYSCALL, ETIMEDOUT,
                            "the trace cannot be written",
                            path[0] != '\0' ? path : aside->place.config.workdir);
}

bool probe_trace_aside_send(probe_trace_aside *aside, const probe_trace_parcel *parcel,
                            int wait_ms) {
    bool sent =
        !aside->wanted || probe_trace_writer_send(&aside->writer, &aside->place, parcel, wait_ms);
    if (!sent && wait_ms > 0) {
        be_late(aside);
    }
    return sent;
}

void probe_trace_aside_settle(probe_trace_aside *aside, int wait_ms) {
    if (aside->wanted && !probe_trace_writer_settle(&aside->writer, &aside->place, wait_ms)) {
        be_late(aside);
    }
}

void probe_trace_aside_sign(probe_trace_aside *aside, const probe_host *host) {
    if (aside->wanted) {
        probe_trace_place_sign(&aside->place, host);
    }
}

bool probe_trace_aside_works(probe_trace_aside *aside) {
    return aside->wanted && probe_trace_writer_settle(&aside->writer, &aside->place, 0) &&
           aside->place.error.status == PROBE_OK;
}

bool probe_trace_aside_close(probe_trace_aside *aside) {
    return !aside->wanted || probe_trace_writer_close(&aside->writer);
}
