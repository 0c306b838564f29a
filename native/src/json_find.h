/* Looking one value up in a JSON text that somebody else wrote. Nothing is trusted: a text that is
 * cut off or no JSON at all has no values. */
#ifndef PROBE_JSON_FIND_H
#define PROBE_JSON_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a key of the object that text begins with, up to the end of text; NULL: there is no
 * such key, or no such object. Keys with escapes in them are not found. */
const char *probe_json_find(const char *text, const char *key);

/* Whether text is one whole object: everything that it opens is closed. */
bool probe_json_is_whole(const char *text);

/* A number without sign, fraction and exponent; false: it is none. */
bool probe_json_find_u64(const char *text, const char *key, uint64_t *value);

/* A string without escapes that fits; false: it is none. */
bool probe_json_find_string(const char *text, const char *key, char *value, size_t size);

#endif
