/* A JSON writer into a fixed buffer: keys in the order of the calls, numbers that every parser
 * accepts, text that is always valid UTF-8. */
#ifndef PROBE_JSON_H
#define PROBE_JSON_H

#include "probe_status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *buf; /* the caller's */
    size_t size;
    size_t used;
    int depth;
    int inline_depth; /* depth from which on everything stays on one line; 0 = none */
    bool first;       /* nothing written yet at this depth */
    bool overflow;
} probe_json;

void probe_json_begin(probe_json *json, char *buf, size_t size);

/* Every writer takes the key first: NULL inside an array and at the top. */
void probe_json_open(probe_json *json, const char *key, char bracket); /* '{' or '[' */
void probe_json_close(probe_json *json, char bracket);                 /* '}' or ']' */
void probe_json_open_inline(probe_json *json, const char *key, char bracket);
void probe_json_int(probe_json *json, const char *key, int64_t value);
void probe_json_uint(probe_json *json, const char *key, uint64_t value);
void probe_json_bool(probe_json *json, const char *key, bool value);
void probe_json_null(probe_json *json, const char *key);

/* The shortest decimal that reads back as the same double; always with a point or an exponent, so
 * that the type stays a float. Not finite: null (NaN and Infinity are not JSON). */
void probe_json_double(probe_json *json, const char *key, double value);

/* With so many decimals (0 to 3), rounded; for long lists of magnitudes below 2^53. Not finite or
 * negative: null. */
void probe_json_fixed(probe_json *json, const char *key, double value, int decimals);

/* Bytes that are not valid UTF-8 become U+FFFD. */
void probe_json_string(probe_json *json, const char *key, const char *value);

/* Ends with a newline and a NUL. PROBE_E_OVERFLOW when the buffer was too small: its content must
 * not be used. */
probe_status probe_json_end(probe_json *json, size_t *length);

#endif
