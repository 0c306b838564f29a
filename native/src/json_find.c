#include "json_find.h"

#include "file.h"
#include <string.h>

static const char *skip_blanks(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* at: behind the opening quote. Behind the closing one, or NULL. */
static const char *skip_string(const char *at) {
    for (; *at != '\0'; at++) {
        if (*at == '"') {
            return at + 1;
        }
        if (*at == '\\' && *++at == '\0') {
            return NULL;
        }
    }
    return NULL;
}

/* Behind the value that begins at at, or NULL. Brackets are counted, not matched: a text whose
 * brackets are of the wrong kind yields a wrong value at worst. */
static const char *skip_value(const char *at) {
    int depth = 0;
    do {
        at = skip_blanks(at);
        switch (*at) {
        case '\0':
            return NULL;
        case '"':
            at = skip_string(at + 1);
            if (at == NULL) {
                return NULL;
            }
            break;
        case '{':
        case '[':
            depth++;
            at++;
            break;
        case '}':
        case ']':
            depth--;
            at++;
            break;
        case ',':
        case ':':
            at++;
            break;
        default:
            at += strcspn(at, " \t\r\n,:{}[]\"");
        }
    } while (depth > 0);
    return depth == 0 ? at : NULL;
}

const char *probe_json_find(const char *text, const char *key) {
    size_t length = strlen(key);
    const char *at = skip_blanks(text);
    if (*at != '{') {
        return NULL;
    }
    at = skip_blanks(at + 1);
    while (at != NULL && *at == '"') {
        const char *name = at + 1, *end = skip_string(name);
        if (end == NULL) {
            return NULL;
        }
        at = skip_blanks(end);
        if (*at != ':') {
            return NULL;
        }
        at = skip_blanks(at + 1);
        if ((size_t)(end - 1 - name) == length && memcmp(name, key, length) == 0) {
            return at;
        }
        at = skip_value(at);
        at = at == NULL ? NULL : skip_blanks(at);
        at = at == NULL || *at != ',' ? NULL : skip_blanks(at + 1);
    }
    return NULL;
}

bool probe_json_is_whole(const char *text) {
    const char *at = skip_blanks(text);
    const char *end = *at == '{' ? skip_value(at) : NULL;
    return end != NULL && *skip_blanks(end) == '\0';
}

bool probe_json_find_u64(const char *text, const char *key, uint64_t *value) {
    const char *at = probe_json_find(text, key), *end;
    return at != NULL && probe_parse_u64(at, value, &end) && strchr(",} \t\r\n", *end) != NULL;
}

bool probe_json_find_string(const char *text, const char *key, char *value, size_t size) {
    const char *at = probe_json_find(text, key);
    if (at == NULL || *at != '"') {
        return false;
    }
    size_t length = strcspn(at + 1, "\"\\");
    if (at[1 + length] != '"' || length >= size) {
        return false;
    }
    memcpy(value, at + 1, length);
    value[length] = '\0';
    return true;
}
