#include "busy_span.h"
#include "check.h"

static void idle_time_before_between_and_after_work_counts(void) {
    probe_busy_span span = {0};
    probe_busy_span_add(&span, -50, 100, false); /* what lies before the start does not */
    CHECK_INT(span.longest_idle_ns, 100);
    CHECK(!span.any_busy);
    probe_busy_span_add(&span, 100, 150, true);
    CHECK(span.any_busy);
    CHECK_INT(span.first_busy_ns, 100);
    probe_busy_span_add(&span, 150, 210, false);
    probe_busy_span_add(&span, 210, 240, false);
    CHECK_INT(span.longest_idle_ns, 100);
    probe_busy_span_add(&span, 240, 260, false); /* readings in a row are one stretch */
    CHECK_INT(span.longest_idle_ns, 110);
    probe_busy_span_add(&span, 260, 300, true);
    CHECK_INT(span.first_busy_ns, 100);
    probe_busy_span_add(&span, 300, 500, false); /* to the end */
    CHECK_INT(span.longest_idle_ns, 200);
}

static void unknown_time_ends_an_idle_stretch(void) {
    probe_busy_span span = {0};
    probe_busy_span_add(&span, 0, 100, false);
    probe_busy_span_add(&span, 150, 240, false);
    CHECK_INT(span.longest_idle_ns, 100);
    probe_busy_span_add(&span, 240, 260, false);
    CHECK_INT(span.longest_idle_ns, 110);
}

static void what_is_known_is_not_changed(void) {
    probe_busy_span span = {0};
    probe_busy_span_add(&span, 0, 100, true);
    probe_busy_span_add(&span, 20, 100, false);
    probe_busy_span_add(&span, 300, 200, false);
    CHECK_INT(span.longest_idle_ns, 0);
    CHECK_INT(span.known_ns, 100);
    probe_busy_span_add(&span, 80, 130, false); /* its part after 100 is new */
    CHECK_INT(span.longest_idle_ns, 30);
}

static void the_newest_reading_tells_what_the_device_does(void) {
    probe_busy_span span = {0};
    CHECK(!probe_busy_span_is_busy(&span));
    probe_busy_span_add(&span, 0, 100, true);
    CHECK(probe_busy_span_is_busy(&span));
    probe_busy_span_add(&span, 100, 101, false);
    CHECK(!probe_busy_span_is_busy(&span));
}

int main(void) {
    idle_time_before_between_and_after_work_counts();
    unknown_time_ends_an_idle_stretch();
    what_is_known_is_not_changed();
    the_newest_reading_tells_what_the_device_does();
    return check_failures();
}
