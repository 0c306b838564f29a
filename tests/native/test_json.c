#include "check.h"
#include "json.h"

#include <locale.h>
#include <math.h>

static char out[4096];

static const char *text_as_json(const char *value) {
    probe_json json;
    size_t length = 0;
    probe_json_begin(&json, out, sizeof out);
    probe_json_string(&json, NULL, value);
    CHECK_INT(probe_json_end(&json, &length), PROBE_OK);
    CHECK_INT(length, strlen(out));
    return out;
}

static const char *number_as_json(double value) {
    probe_json json;
    size_t length = 0;
    probe_json_begin(&json, out, sizeof out);
    probe_json_double(&json, NULL, value);
    CHECK_INT(probe_json_end(&json, &length), PROBE_OK);
    return out;
}

static void nesting_reads_as_written(void) {
    probe_json json;
    size_t length = 0;
    probe_json_begin(&json, out, sizeof out);
    probe_json_open(&json, NULL, '{');
    probe_json_int(&json, "a", -3);
    probe_json_open(&json, "empty", '[');
    probe_json_close(&json, ']');
    probe_json_open(&json, "deep", '{');
    probe_json_open_inline(&json, "row", '[');
    probe_json_uint(&json, NULL, UINT64_MAX);
    probe_json_open(&json, NULL, '{');
    probe_json_null(&json, "x");
    probe_json_close(&json, '}');
    probe_json_close(&json, ']');
    probe_json_bool(&json, "yes", true);
    probe_json_close(&json, '}');
    probe_json_close(&json, '}');
    CHECK_INT(probe_json_end(&json, &length), PROBE_OK);
    CHECK_STR(out, "{\n \"a\": -3,\n \"empty\": [],\n \"deep\": {\n  \"row\": "
                   "[18446744073709551615, {\"x\": null}],\n  \"yes\": "
                   "true\n }\n}\n");
}

static void text_is_escaped_and_always_utf8(void) {
    CHECK_STR(text_as_json("a\"b\\c\n\x7f"), "\"a\\\"b\\\\c\\u000a\\u007f\"\n");
    CHECK_STR(text_as_json("µ€😀"), "\"µ€😀\"\n");
    CHECK_STR(text_as_json("\xf8\xe2x"), "\"\xef\xbf\xbd\xef\xbf\xbdx\"\n");
    CHECK_STR(text_as_json("\xed\xa0\x80"),
              "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n");               /* a surrogate */
    CHECK_STR(text_as_json("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"\n"); /* cut in the middle */
}

static void doubles_read_back_exactly_and_stay_floats(void) {
    CHECK_STR(number_as_json(74.140625), "74.140625\n");
    CHECK_STR(number_as_json(40.11115345483025), "40.11115345483025\n");
    CHECK_STR(number_as_json(25.0), "25.0\n");
    CHECK_STR(number_as_json(0.0), "0.0\n");
    CHECK_STR(number_as_json(0.1), "0.1\n");
    CHECK_STR(number_as_json(1e300), "1e+300\n");
    CHECK_STR(number_as_json(NAN), "null\n");
    CHECK_STR(number_as_json(INFINITY), "null\n");
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL) {
        CHECK_STR(number_as_json(0.5), "0.5\n");
        CHECK(setlocale(LC_NUMERIC, "C") != NULL);
    }
}

static void a_short_buffer_is_reported(void) {
    probe_json json;
    size_t length = 0;
    char small[8];
    probe_json_begin(&json, small, sizeof small);
    probe_json_string(&json, NULL, "12345");
    CHECK_INT(probe_json_end(&json, &length), PROBE_E_OVERFLOW);
}

static void fixed_decimals_are_rounded(void) {
    static const struct {
        double value;
        int decimals;
        const char *text;
    } cases[] = {{0, 0, "0\n"},
                 {0, 1, "0.0\n"},
                 {0.04, 1, "0.0\n"},
                 {99.95001, 1, "100.0\n"},
                 {7.25, 3, "7.250\n"},
                 {0.005, 2, "0.01\n"},
                 {8e14, 0, "800000000000000\n"},
                 {-1, 0, "null\n"},
                 {(double)NAN, 1, "null\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        probe_json json;
        size_t length = 0;
        probe_json_begin(&json, out, sizeof out);
        probe_json_fixed(&json, NULL, cases[i].value, cases[i].decimals);
        CHECK_INT(probe_json_end(&json, &length), PROBE_OK);
        CHECK_STR(out, cases[i].text);
    }
}

int main(void) {
    nesting_reads_as_written();
    text_is_escaped_and_always_utf8();
    doubles_read_back_exactly_and_stay_floats();
    fixed_decimals_are_rounded();
    a_short_buffer_is_reported();
    return check_failures();
}
