#include "scenario_fields.h"

#include "codes.h"
#include "scenario.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool mock_complain(const mock_line *line, const char *format, ...) {
    int n = snprintf(line->error, MOCK_ERROR_SIZE, "%s:%d: ", line->source, line->line);
    if (n >= 0 && n < MOCK_ERROR_SIZE) { /* a cut message is still a message */
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(line->error + n, (size_t)(MOCK_ERROR_SIZE - n), format, arguments);
        va_end(arguments);
    }
    return false;
}

char *mock_next_word(mock_line *line) {
    char *read = line->rest + strspn(line->rest, " \t\r\n");
    if (*read == '\0' || *read == '#') {
        line->rest = read;
        *read = '\0';
        return NULL;
    }
    char *word = read, *write = read;
    bool quoted = false;
    for (; *read != '\0' && (quoted || strchr(" \t\r\n", *read) == NULL); read++) {
        if (*read == '"') {
            quoted = !quoted;
        } else {
            *write++ = *read;
        }
    }
    line->rest = *read == '\0' ? read : read + 1;
    *write = '\0';
    return word;
}

static bool parse_hexadecimal(const char *text, int64_t *value) {
    static const char DIGITS[] = "0123456789abcdef";
    size_t length = strspn(text, "0123456789abcdefABCDEF");
    if (length == 0 || length > 15 || text[length] != '\0') {
        return false;
    }
    *value = 0;
    for (; *text != '\0'; text++) {
        const char *digit = strchr(DIGITS, *text >= 'A' && *text <= 'F' ? *text + 32 : *text);
        *value = *value * 16 + (digit - DIGITS);
    }
    return true;
}

bool mock_parse_fixed(const char *text, int decimals, int64_t *value) {
    static const char DIGITS[] = "0123456789";
    if (decimals == 0 && strncmp(text, "0x", 2) == 0) {
        return parse_hexadecimal(text + 2, value);
    }
    size_t whole = strspn(text, DIGITS), fraction = 0;
    const char *end = text + whole;
    if (*end == '.') {
        fraction = strspn(end + 1, DIGITS);
        end += 1 + fraction;
    }
    if (whole == 0 || fraction > (size_t)decimals || *end != '\0') {
        return false;
    }
    *value = 0;
    for (size_t i = 0; i < whole + (size_t)decimals; i++) {
        const char *at = i < whole ? text + i : text + i + 1; /* past the point */
        int digit = i < whole + fraction ? *at - '0' : 0;
        if (__builtin_mul_overflow(*value, (int64_t)10, value) ||
            __builtin_add_overflow(*value, (int64_t)digit, value)) {
            return false;
        }
    }
    return true;
}

/* "K", "K-L" or "K-" into first and last. */
static bool parse_calls(char *text, int64_t range[2]) {
    char *dash = strchr(text, '-');
    if (dash != NULL) {
        *dash = '\0';
    }
    if (!mock_parse_fixed(text, 0, &range[0])) {
        return false;
    }
    range[1] = dash == NULL ? range[0] : INT64_MAX;
    if (dash != NULL && dash[1] != '\0' && !mock_parse_fixed(dash + 1, 0, &range[1])) {
        return false;
    }
    return range[0] >= 1 && range[0] <= range[1];
}

/* Index of text among "a|b|c", or -1. */
static int64_t find_choice(const char *text, const char *choices) {
    size_t length = strlen(text);
    for (int64_t i = 0;; i++) {
        size_t width = strcspn(choices, "|");
        if (width == length && strncmp(text, choices, length) == 0) {
            return i;
        }
        if (choices[width] == '\0') {
            return -1;
        }
        choices += width + 1;
    }
}

static bool read_number(const mock_line *line, const mock_field *field, const char *text,
                        int64_t *value) {
    static const struct {
        int decimals;
        int64_t scale;
        const char *noun;
    } KINDS[] = {[MOCK_FIELD_INTEGER] = {0, 1, "a whole number"},
                 [MOCK_FIELD_MICRO] = {6, MOCK_MICRO, "a number"},
                 [MOCK_FIELD_TIME] = {9, MOCK_NS_PER_S, "seconds"}};
    int64_t scale = KINDS[field->type].scale;
    if (mock_parse_fixed(text, KINDS[field->type].decimals, value) &&
        *value >= field->minimum * scale && *value <= field->maximum * scale) {
        return true;
    }
    return mock_complain(line, "%s=%s: allowed is %s from %" PRId64 " to %" PRId64, field->key,
                         text, KINDS[field->type].noun, field->minimum, field->maximum);
}

static bool read_pid(const mock_line *line, const mock_field *field, const char *text,
                     int64_t *pid) {
    static const int64_t WORDS[] = {MOCK_PID_SELF, MOCK_PID_CHILD, MOCK_PID_FOREIGN};
    int64_t word = find_choice(text, "self|child|foreign");
    if (word >= 0) {
        *pid = WORDS[word];
        return true;
    }
    return (mock_parse_fixed(text, 0, pid) && *pid >= 1 && *pid <= INT32_MAX) ||
           mock_complain(line, "%s=%s: allowed is a number from 1 to %d, self, child or foreign",
                         field->key, text, INT32_MAX);
}

static bool read_value(const mock_line *line, const mock_field *field, char *text, void *slot) {
    nvml_return code;
    switch (field->type) {
    case MOCK_FIELD_INTEGER:
    case MOCK_FIELD_MICRO:
    case MOCK_FIELD_TIME:
        return read_number(line, field, text, slot);
    case MOCK_FIELD_TEXT:
        if (*text == '\0' || strlen(text) >= (size_t)field->maximum) {
            return mock_complain(line, "%s=: allowed are 1 to %" PRId64 " bytes", field->key,
                                 field->maximum - 1);
        }
        memcpy(slot, text, strlen(text) + 1);
        return true;
    case MOCK_FIELD_CHOICE:
        *(int64_t *)slot = find_choice(text, field->choices);
        return *(int64_t *)slot >= 0 ||
               mock_complain(line, "%s=%s: allowed is %s", field->key, text, field->choices);
    case MOCK_FIELD_CODE:
        if (!mock_code_parse(text, &code)) {
            return mock_complain(line,
                                 "%s=%s: allowed is a number from 1 to 999 or a name such as "
                                 "GPU_IS_LOST",
                                 field->key, text);
        }
        *(int64_t *)slot = code;
        return true;
    case MOCK_FIELD_PID:
        return read_pid(line, field, text, slot);
    case MOCK_FIELD_CALLS:
        return parse_calls(text, slot) ||
               mock_complain(line, "%s=: allowed is K, K-L or K-, counted from 1", field->key);
    }
    return false;
}

static bool complain_of_key(const mock_line *line, const mock_field *fields, const char *word) {
    char keys[480] = "";
    for (size_t used = 0; fields->key != NULL; fields++) {
        int n = snprintf(keys + used, sizeof keys - used, " %s", fields->key);
        used += (size_t)n;
        if (n < 0 || used >= sizeof keys) {
            break;
        }
    }
    return mock_complain(line, "%s: not a key=value of this line; allowed keys:%s", word,
                         keys[0] == '\0' ? " none" : keys);
}

bool mock_read_fields(mock_line *line, const mock_field *fields, void *record) {
    char *word;
    while ((word = mock_next_word(line)) != NULL) {
        char *value = strchr(word, '=');
        const mock_field *field = fields;
        size_t length = value == NULL ? 0 : (size_t)(value - word);
        while (field->key != NULL &&
               (strlen(field->key) != length || strncmp(field->key, word, length) != 0)) {
            field++;
        }
        if (value == NULL || field->key == NULL) {
            return complain_of_key(line, fields, word);
        }
        if (!read_value(line, field, value + 1, (char *)record + field->offset)) {
            return false;
        }
    }
    return true;
}
