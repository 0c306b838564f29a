#include "nvml_health_fixture.h"

static void event(int of, unsigned long long type, unsigned long long data) {
    driver.event[driver.events++] =
        (nvml_event_data){.device = &names[of], .type = type, .data = data};
}

static nvml_return wait_without_driver(void *set, nvml_event_data *event, unsigned int wait_ms) {
    (void)set, (void)event, (void)wait_ms;
    return NVML_E_UNINITIALIZED;
}

static void events_go_to_their_device_with_the_time_of_the_poll(void) {
    begin();
    void *set = nvml_events_open(&api, reader, DEVICES, 0);
    CHECK(set != NULL && device[0].health.events_valid);
    CHECK(!device[1].health.events_valid); /* not supported there */
    nvml_events_poll(&api, set, reader, DEVICES, 1, NVML_EVENTS_PER_POLL);
    event(0, NVML_EVENT_XID, 31);
    event(1, NVML_EVENT_XID, 13);
    event(0, NVML_EVENT_ECC_DBE, 0);
    nvml_events_poll(&api, set, reader, DEVICES, 2, NVML_EVENTS_PER_POLL);
    event(0, NVML_EVENT_XID, 79);
    nvml_events_poll(&api, set, reader, DEVICES, 3, NVML_EVENTS_PER_POLL);
    const probe_gpu_health *health = &device[0].health;
    CHECK_INT(health->xids, 2);
    CHECK_INT(health->xid[0].number, 31);
    CHECK_INT(health->xid[0].read_ns, 2);
    CHECK_INT(health->xid[1].number, 79);
    CHECK_INT(health->xid[1].read_ns, 3);
    CHECK_INT(health->double_bit_events, 1);
    CHECK_INT(device[1].health.xids, 0);
}

static void it_is_known_up_to_when_they_were_read(void) {
    begin();
    void *set = nvml_events_open(&api, reader, DEVICES, 1);
    CHECK_INT(device[0].health.events_ns, 1);
    nvml_events_poll(&api, set, reader, DEVICES, 5, NVML_EVENTS_PER_POLL);
    CHECK_INT(device[0].health.events_ns, 5);
    nvml_api gone = api;
    gone.event_wait = wait_without_driver;
    nvml_events_poll(&gone, set, reader, DEVICES, 9, NVML_EVENTS_PER_POLL);
    CHECK_INT(device[0].health.events_ns, 5);
}

static void a_flood_of_events_is_bounded(void) {
    begin();
    void *set = nvml_events_open(&api, reader, DEVICES, 0);
    for (int i = 0; i < 100; i++) {
        event(0, NVML_EVENT_XID, (unsigned long long)i);
    }
    nvml_events_poll(&api, set, reader, DEVICES, 1, NVML_EVENTS_PER_POLL);
    CHECK_INT(driver.taken, NVML_EVENTS_PER_POLL);
    nvml_events_poll(&api, set, reader, DEVICES, 2, NVML_EVENTS_AT_END);
    CHECK_INT(driver.taken, 100);
    CHECK_INT(device[0].health.xids, 100);
    CHECK_INT(device[0].health.xid[0].number, 0);
    CHECK_INT(device[0].health.xid[PROBE_XIDS_MAX - 2].number, PROBE_XIDS_MAX - 2);
    CHECK_INT(device[0].health.xid[PROBE_XIDS_MAX - 1].number, 99); /* the newest */
}

static void repetitions_make_room_for_other_numbers(void) {
    begin();
    void *set = nvml_events_open(&api, reader, DEVICES, 0);
    const unsigned long long rare[] = {13, 13, 31, 13, 79, 45, 13};
    for (int i = 0; i < 20; i++) {
        event(0, NVML_EVENT_XID, 13);
    }
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++) {
        event(0, NVML_EVENT_XID, rare[i]);
    }
    nvml_events_poll(&api, set, reader, DEVICES, 1, NVML_EVENTS_AT_END);
    const probe_gpu_health *health = &device[0].health;
    const unsigned long long kept[] = {31, 79, 45, 13};
    CHECK_INT(health->xids, 27);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(health->xid[PROBE_XIDS_MAX - 4 + i].number, kept[i]);
    }
    CHECK_INT(health->xid[0].number, 13);
}

static void a_board_without_ecc_still_reports_xids(void) {
    begin();
    driver.register_dbe_code = NVML_E_NOT_SUPPORTED;
    CHECK(nvml_events_open(&api, reader, DEVICES, 0) != NULL);
    begin();
    driver.register_dbe_code = driver.register_code = NVML_E_NOT_SUPPORTED;
    CHECK(nvml_events_open(&api, reader, DEVICES, 0) == NULL);
    CHECK(!device[0].health.events_valid);
    nvml_events_poll(&api, NULL, reader, DEVICES, 1, NVML_EVENTS_PER_POLL);
}

int main(void) {
    events_go_to_their_device_with_the_time_of_the_poll();
    it_is_known_up_to_when_they_were_read();
    a_flood_of_events_is_bounded();
    repetitions_make_room_for_other_numbers();
    a_board_without_ecc_still_reports_xids();
    return check_failures();
}
