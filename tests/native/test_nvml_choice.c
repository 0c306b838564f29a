/* The choice among more devices than are measured, against a driver made of tables. */
#include "check.h"
#include "nvml_choice.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES = 20 };

static char names[DEVICES][8];

static nvml_return fake_count(unsigned int *count) {
    *count = DEVICES;
    return NVML_OK;
}

static nvml_return fake_handle(unsigned int index, nvml_device *handle) {
    *handle = names[index];
    return NVML_OK;
}

static nvml_return fake_text(nvml_device handle, char *text, unsigned int size) {
    (void)snprintf(text, size, "GPU-%s", (const char *)handle);
    return NVML_OK;
}

static const char *fake_error(nvml_return code) {
    (void)code;
    return "";
}

static nvml_session session;

static void choose(const char *gpus) {
    session = (nvml_session){
        .api = {.count = fake_count,
                .handle_by_index = fake_handle,
                .name = fake_text,
                .uuid = fake_text,
                .error_string = fake_error},
        .config = {.gpus = gpus, .proc_root = "/proc", .interval_ns = 1000000000, .task = 1}};
    CHECK(nvml_choose_devices(&session, false));
}

static void sixteen_devices_are_measured_and_a_note_tells_of_more(void) {
    choose("all");
    CHECK_INT(session.snapshot.count, PROBE_GPU_MAX);
    CHECK_INT(session.sharing.count, PROBE_GPU_MAX);
    CHECK_STR(session.snapshot.device[PROBE_GPU_MAX - 1].uuid, "GPU-p");
    CHECK(strstr(session.snapshot.note, "more than 16 devices") != NULL);
}

static void one_of_the_others_is_not_replaced(void) {
    choose("17");
    CHECK_INT(session.snapshot.count, 0);
    choose("15,17");
    CHECK_INT(session.snapshot.count, 1);
    CHECK_INT(session.snapshot.device[0].index, 15);
    CHECK(strstr(session.snapshot.scope_note, "'17': no such device") != NULL);
}

int main(void) {
    for (int i = 0; i < DEVICES; i++) {
        names[i][0] = (char)('a' + i);
    }
    sixteen_devices_are_measured_and_a_note_tells_of_more();
    one_of_the_others_is_not_replaced();
    return check_failures();
}
