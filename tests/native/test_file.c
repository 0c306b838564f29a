#include "check.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void numbers_are_parsed_whole_and_bounded(void) {
    uint64_t value = 7;
    const char *end = NULL;
    CHECK(probe_parse_u64("  42 rest", &value, &end));
    CHECK_INT(value, 42);
    CHECK_STR(end, " rest");
    CHECK(probe_parse_u64("18446744073709551615", &value, NULL));
    CHECK(value == UINT64_MAX);
    CHECK(!probe_parse_u64("18446744073709551616", &value, NULL));
    CHECK(!probe_parse_u64("-1", &value, NULL));
    CHECK(!probe_parse_u64("", &value, NULL));
    CHECK(!probe_parse_u64("max", &value, NULL));
}

static void keys_match_whole_lines(void) {
    const char *text = "anon_thp 9\nanon 5\ntotal_rss 3\nlast: \t77 kB\n";
    uint64_t value = 0;
    CHECK(probe_find_u64(text, "anon", ' ', &value));
    CHECK_INT(value, 5);
    CHECK(probe_find_u64(text, "last", ':', &value));
    CHECK_INT(value, 77);
    CHECK(!probe_find_u64(text, "rss", ' ', &value));
    CHECK(!probe_find_u64("", "rss", ' ', &value));
}

static void reading_says_when_the_buffer_is_short(void) {
    char path[] = "/tmp/probe_test_file_XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, "12345", 5), 5);
    CHECK_INT(close(fd), 0);

    char buf[6];
    size_t length = 0;
    CHECK_INT(probe_file_read(AT_FDCWD, path, buf, sizeof buf, &length), PROBE_OK);
    CHECK_INT(length, 5);
    CHECK_STR(buf, "12345");
    CHECK_INT(probe_file_read(AT_FDCWD, path, buf, 5, &length), PROBE_E_OVERFLOW);
    CHECK_STR(buf, "1234");
    CHECK_INT(unlink(path), 0);
    CHECK_INT(probe_file_read(AT_FDCWD, path, buf, sizeof buf, NULL), PROBE_E_SYSCALL);
    CHECK_INT(errno, ENOENT);
}

static void joined_paths_are_never_cut(void) {
    char out[8];
    CHECK_INT(probe_path_join(out, sizeof out, "/a", "bcde"), PROBE_OK);
    CHECK_STR(out, "/a/bcde");
    CHECK_INT(probe_path_join(out, sizeof out, "/a", "bcdef"), PROBE_E_OVERFLOW);
}

int main(void) {
    numbers_are_parsed_whole_and_bounded();
    keys_match_whole_lines();
    reading_says_when_the_buffer_is_short();
    joined_paths_are_never_cut();
    return check_failures();
}
