#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(probe_json *json, const char *bytes, size_t length) {
    if (length > json->size - json->used) {
        json->overflow = true;
        return;
    }
    memcpy(json->buf + json->used, bytes, length);
    json->used += length;
}

static void put_text(probe_json *json, const char *text) {
    put(json, text, strlen(text));
}

static void put_line_break(probe_json *json) {
    if (json->inline_depth != 0 && json->depth >= json->inline_depth) {
        if (!json->first) {
            put(json, " ", 1);
        }
        return;
    }
    put(json, "\n", 1);
    for (int i = 0; i < json->depth; i++) {
        put(json, " ", 1);
    }
}

/* Length of the valid UTF-8 sequence at s, or 0. Overlong forms, surrogates and values above
 * U+10FFFF are not valid. */
static size_t utf8_length(const unsigned char *s) {
    static const struct {
        unsigned char lead_min, lead_max, second_min, second_max, length;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (s[0] < forms[i].lead_min || s[0] > forms[i].lead_max) {
            continue;
        }
        size_t length = forms[i].length;
        if (length > 1 && (s[1] < forms[i].second_min || s[1] > forms[i].second_max)) {
            return 0;
        }
        for (size_t j = 2; j < length; j++) {
            if (s[j] < 0x80 || s[j] > 0xbf) {
                return 0;
            }
        }
        return length;
    }
    return 0;
}

static void put_quoted(probe_json *json, const char *text) {
    put(json, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        size_t length = utf8_length(s);
        if (length == 0) {
            put_text(json, "\xef\xbf\xbd");
            s++;
        } else if (*s == '"' || *s == '\\') {
            put(json, "\\", 1);
            put(json, (const char *)s++, 1);
        } else if (*s < 0x20 || *s == 0x7f) {
            char escape[8];
            (void)snprintf(escape, sizeof escape, "\\u%04x", *s++);
            put_text(json, escape);
        } else {
            put(json, (const char *)s, length);
            s += length;
        }
    }
    put(json, "\"", 1);
}

static void put_member(probe_json *json, const char *key) {
    if (json->depth > 0) {
        if (!json->first) {
            put(json, ",", 1);
        }
        put_line_break(json);
    }
    json->first = false;
    if (key != NULL) {
        put_quoted(json, key);
        put(json, ": ", 2);
    }
}

void probe_json_begin(probe_json *json, char *buf, size_t size) {
    *json = (probe_json){.buf = buf, .size = size, .first = true};
}

void probe_json_open(probe_json *json, const char *key, char bracket) {
    put_member(json, key);
    put(json, &bracket, 1);
    json->depth++;
    json->first = true;
}

void probe_json_open_inline(probe_json *json, const char *key, char bracket) {
    probe_json_open(json, key, bracket);
    if (json->inline_depth == 0) {
        json->inline_depth = json->depth;
    }
}

void probe_json_close(probe_json *json, char bracket) {
    bool is_inline = json->inline_depth != 0 && json->depth >= json->inline_depth;
    bool ends_inline = json->depth == json->inline_depth;
    bool empty = json->first;
    json->depth--;
    if (!empty && !is_inline) {
        put_line_break(json);
    }
    if (ends_inline) {
        json->inline_depth = 0;
    }
    put(json, &bracket, 1);
    json->first = false;
}

void probe_json_int(probe_json *json, const char *key, int64_t value) {
    char number[24];
    (void)snprintf(number, sizeof number, "%lld", (long long)value);
    put_member(json, key);
    put_text(json, number);
}

void probe_json_uint(probe_json *json, const char *key, uint64_t value) {
    char number[24];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)value);
    put_member(json, key);
    put_text(json, number);
}

void probe_json_bool(probe_json *json, const char *key, bool value) {
    put_member(json, key);
    put_text(json, value ? "true" : "false");
}

void probe_json_null(probe_json *json, const char *key) {
    put_member(json, key);
    put_text(json, "null");
}

void probe_json_double(probe_json *json, const char *key, double value) {
    if (!isfinite(value)) {
        probe_json_null(json, key);
        return;
    }
    char number[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(number, sizeof number - 2, "%.*g", digits, value);
        if (strtod(number, NULL) == value) {
            break;
        }
    }
    bool whole = true;
    for (char *c = number; *c != '\0'; c++) {
        if (strchr("+-0123456789e", *c) == NULL) {
            *c =
                '.'; /* a program that embeds us may have set a locale with another decimal point */
        }
        whole = whole && *c != '.' && *c != 'e';
    }
    put_member(json, key);
    put_text(json, number);
    if (whole) {
        put_text(json, ".0");
    }
}

void probe_json_fixed(probe_json *json, const char *key, double value, int decimals) {
    static const double scales[] = {1, 10, 100, 1000};
    if (!isfinite(value) || value < 0 || value * scales[decimals] > 9e15) {
        probe_json_null(json, key);
        return;
    }
    char number[24];
    char *start = number + sizeof number;
    uint64_t scaled = (uint64_t)(value * scales[decimals] + 0.5);
    for (int digits = 0; digits <= decimals || scaled > 0; digits++) {
        if (digits == decimals && decimals > 0) {
            *--start = '.';
        }
        *--start = (char)('0' + scaled % 10);
        scaled /= 10;
    }
    put_member(json, key);
    put(json, start, (size_t)(number + sizeof number - start));
}

void probe_json_string(probe_json *json, const char *key, const char *value) {
    put_member(json, key);
    put_quoted(json, value);
}

probe_status probe_json_end(probe_json *json, size_t *length) {
    put(json, "\n", 2); /* with its NUL */
    if (json->overflow) {
        return PROBE_E_OVERFLOW;
    }
    *length = json->used - 1;
    return PROBE_OK;
}
