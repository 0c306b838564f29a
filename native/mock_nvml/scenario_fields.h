/* The words of a scenario line: splitting, numbers, and key=value pairs described by a table. */
#ifndef MOCK_SCENARIO_FIELDS_H
#define MOCK_SCENARIO_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line being read. The text is cut up in place. */
typedef struct {
    char *rest;
    const char *source;
    int line;
    char *error; /* MOCK_ERROR_SIZE bytes */
} mock_line;

/* Writes "SOURCE:LINE: message" and returns false, for `return mock_complain(...)`. */
__attribute__((format(printf, 2, 3))) bool mock_complain(const mock_line *line, const char *format,
                                                         ...);

/* The next word, or NULL at the end of the line or at a comment. Double quotes keep blanks and '#'
 * within a word and are removed. */
char *mock_next_word(mock_line *line);

/* Decimal number, optionally with a fraction of at most `decimals` digits, scaled by 10^decimals;
 * 0x... when decimals is 0. False: not such a number, or it does not fit. */
bool mock_parse_fixed(const char *text, int decimals, int64_t *value);

typedef enum {
    MOCK_FIELD_INTEGER,
    MOCK_FIELD_MICRO,  /* millionths */
    MOCK_FIELD_TIME,   /* seconds, kept in ns */
    MOCK_FIELD_TEXT,   /* at most maximum bytes with the terminating NUL */
    MOCK_FIELD_CHOICE, /* index into the words of choices, separated by '|' */
    MOCK_FIELD_CODE,   /* NVML return code */
    MOCK_FIELD_PID,    /* a number, or self, child or foreign as MOCK_PID_* */
    MOCK_FIELD_CALLS,  /* K, K-L or K-: two int64_t, first and last */
} mock_field_type;

typedef struct {
    const char *key;
    mock_field_type type;
    size_t offset;            /* of the int64_t (or char array) in the record */
    int64_t minimum, maximum; /* in the unit as written */
    const char *choices;
} mock_field;

/* Reads the remaining words of the line, each key=value, into the record. Keys that are not given
 * keep their value. A field table ends with a NULL key. */
bool mock_read_fields(mock_line *line, const mock_field *fields, void *record);

#endif
