/* A test is a function; CHECK reports and counts; main returns check_failures(). */
#ifndef PROBE_CHECK_H
#define PROBE_CHECK_H

#include <stdio.h>
#include <string.h>

static int check_failed;
static int check_count;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        check_count++;                                                                             \
        if (!(condition)) {                                                                        \
            check_failed++;                                                                        \
            (void)fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);          \
        }                                                                                          \
    } while (0)

#define CHECK_INT(actual, expected)                                                                \
    do {                                                                                           \
        long long check_a = (long long)(actual), check_e = (long long)(expected);                  \
        check_count++;                                                                             \
        if (check_a != check_e) {                                                                  \
            check_failed++;                                                                        \
            (void)fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__,        \
                          #actual, check_a, check_e);                                              \
        }                                                                                          \
    } while (0)

#define CHECK_STR(actual, expected)                                                                \
    do {                                                                                           \
        const char *check_a = (actual), *check_e = (expected);                                     \
        check_count++;                                                                             \
        if (strcmp(check_a, check_e) != 0) {                                                       \
            check_failed++;                                                                        \
            (void)fprintf(stderr, "%s:%d: %s is\n  %s\nexpected\n  %s\n", __FILE__, __LINE__,      \
                          #actual, check_a, check_e);                                              \
        }                                                                                          \
    } while (0)

static int check_failures(void) {
    (void)fprintf(stderr, "%d checks, %d failed\n", check_count, check_failed);
    return check_failed == 0 && check_count > 0 ? 0 : 1;
}

#endif
