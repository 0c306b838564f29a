#include "check.h"
#include "json_find.h"

static uint64_t number(const char *text, const char *key) {
    uint64_t value = 0;
    return probe_json_find_u64(text, key, &value) ? value : 999;
}

static void keys_are_found_at_their_own_depth(void) {
    const char text[] = " {\"a\": {\"pid\": 1, \"x\": [{\"pid\": 2}]}, \"s\": \"\\\"pid\\\": 3}\", "
                        "\"pid\": 4, \"probe\":{\"pid\":5,\"state\":\"final\"}}";
    char state[8];
    CHECK_INT(number(text, "pid"), 4);
    CHECK_INT(number(probe_json_find(text, "probe"), "pid"), 5);
    CHECK_INT(number(probe_json_find(text, "a"), "pid"), 1);
    CHECK(probe_json_find(text, "x") == NULL);
    CHECK(probe_json_find_string(probe_json_find(text, "probe"), "state", state, sizeof state));
    CHECK_STR(state, "final");
    CHECK(!probe_json_find_string(probe_json_find(text, "probe"), "state", state, 5));
    CHECK(!probe_json_find_string(text, "s", state, sizeof state));
    CHECK(probe_json_is_whole(text));
}

static void what_is_no_whole_number_is_none(void) {
    CHECK_INT(number("{\"n\": 1.5}", "n"), 999);
    CHECK_INT(number("{\"n\": -1}", "n"), 999);
    CHECK_INT(number("{\"n\": \"1\"}", "n"), 999);
    CHECK_INT(number("{\"n\": 1e3}", "n"), 999);
    CHECK_INT(number("{\"n\": 18446744073709551616}", "n"), 999);
}

/* Every beginning of a text, and every text with one byte changed, is read without a fault. */
static void damaged_texts_do_no_harm(void) {
    const char whole[] = "{\"proc\": {\"a\": [1, {\"b\": \"c\\\\\"}]}, \"probe\": {\"pid\": 7}}";
    char text[sizeof whole];
    for (size_t cut = 0; cut < sizeof whole - 1; cut++) {
        memcpy(text, whole, sizeof whole);
        text[cut] = '\0';
        CHECK(!probe_json_is_whole(text));
        (void)probe_json_find(text, "probe");
        for (const char *c = "{}[]\",:\\ x"; *c != '\0'; c++) {
            memcpy(text, whole, sizeof whole);
            text[cut] = *c;
            (void)probe_json_find(text, "probe");
            (void)probe_json_is_whole(text);
        }
    }
    CHECK(probe_json_is_whole(whole));
    CHECK(probe_json_find("[]", "a") == NULL);
    CHECK(probe_json_find("", "a") == NULL);
    CHECK(!probe_json_is_whole("{} x"));
}

int main(void) {
    keys_are_found_at_their_own_depth();
    what_is_no_whole_number_is_none();
    damaged_texts_do_no_harm();
    return check_failures();
}
