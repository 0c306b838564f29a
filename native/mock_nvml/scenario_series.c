#include "scenario_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How the values of one kind are written. */
typedef struct {
    const char *word;
    int decimals;    /* 0: whole numbers, also 0x... */
    int64_t maximum; /* 0: the memory of the device */
} value_format;

static const value_format FORMATS[MOCK_SERIES_COUNT] = {
    [MOCK_UTIL] = {"util", 6, 100},
    [MOCK_MEMUTIL] = {"memutil", 6, 100},
    [MOCK_MEM] = {"mem", 6, 0},
    [MOCK_POWER] = {"power", 6, MOCK_INTEGRATED_MAX},
    [MOCK_THROTTLE] = {"throttle", 0, 0xffff},
    [MOCK_SM] = {"sm", 6, 100},
    [MOCK_OCCUPANCY] = {"occupancy", 6, 100},
    [MOCK_TENSOR] = {"tensor", 6, 100},
    [MOCK_DRAM] = {"dram", 6, 100},
    [MOCK_TEMP] = {"temp", 6, 150},
    [MOCK_MEM_TEMP] = {"mem_temp", 6, 150},
    [MOCK_CLOCK_SM] = {"clock_sm", 6, 10000},
    [MOCK_CLOCK_MEM] = {"clock_mem", 6, 30000},
    [MOCK_ECC_SBE] = {"ecc_sbe", 0, 1 << 30},
    [MOCK_ECC_DBE] = {"ecc_dbe", 0, 1 << 30},
    [MOCK_REMAPPED] = {"remapped", 0, 1 << 16},
    [MOCK_RETIRED] = {"retired", 0, 64},
};

static bool complain_of_kind(const mock_line *line, const char *word) {
    char kinds[256] = "";
    for (size_t i = 0, used = 0; i < MOCK_SERIES_COUNT && used < sizeof kinds; i++) {
        int n = snprintf(kinds + used, sizeof kinds - used, " %s", FORMATS[i].word);
        used += n < 0 ? sizeof kinds : (size_t)n;
    }
    return mock_complain(line, "series %s: allowed is one of:%s", word == NULL ? "(nothing)" : word,
                         kinds);
}

static bool read_time(const mock_line *line, const char *text, const mock_series *series,
                      mock_point *point) {
    if (mock_parse_fixed(text, 9, &point->t_ns) && point->t_ns <= MOCK_TIME_MAX_S * MOCK_NS_PER_S &&
        (series->count == 0 || point->t_ns >= point[-1].t_ns)) {
        return true;
    }
    return mock_complain(line, "series: time %s: allowed are seconds from 0 to %lld, never falling",
                         text, MOCK_TIME_MAX_S);
}

static bool read_value(const mock_line *line, const char *text, const value_format *format,
                       int64_t maximum, mock_point *point) {
    int64_t scale = format->decimals == 0 ? 1 : MOCK_MICRO;
    if (text != NULL && mock_parse_fixed(text, format->decimals, &point->value_micro) &&
        point->value_micro <= maximum * scale) {
        point->value_micro *= MOCK_MICRO / scale;
        return true;
    }
    return mock_complain(line, "series %s: value %s: allowed is a %snumber from 0 to %" PRId64,
                         format->word, text == NULL ? "(nothing)" : text,
                         format->decimals == 0 ? "whole " : "", maximum);
}

/* Reads "t value t value ..." up to the end of the line; word is the first t. */
static bool read_points(mock_line *line, const char *word, mock_scenario *scenario,
                        mock_series *series, const value_format *format, int64_t maximum) {
    mock_point *points = &scenario->points[scenario->point_count];
    for (; word != NULL; word = mock_next_word(line)) {
        if (scenario->point_count == MOCK_POINTS_MAX) {
            return mock_complain(line, "series: at most %d points are allowed in all",
                                 MOCK_POINTS_MAX);
        }
        mock_point *point = &points[series->count];
        if (!read_time(line, word, series, point) ||
            !read_value(line, mock_next_word(line), format, maximum, point)) {
            return false;
        }
        series->count++;
        scenario->point_count++;
    }
    series->points = points;
    return series->count > 0 ||
           mock_complain(line, "series %s: no points; allowed is t0 v0 t1 v1 ...", format->word);
}

/* Whose series a line is about. */
typedef struct {
    mock_series *series;
    int64_t memory_mib; /* that tasks can use */
} series_owner;

/* N, a device, or N.INDEX, an instance of it. */
static bool read_owner(mock_line *line, mock_scenario *scenario, series_owner *owner) {
    char *word = mock_next_word(line);
    char *point = word == NULL ? NULL : strchr(word, '.');
    int64_t number = 0, index = 0;
    if (point == NULL) {
        if (!mock_parse_device_number(line, scenario, word, &number)) {
            return false;
        }
        mock_device *device = &scenario->devices[number];
        *owner = (series_owner){device->series, device->mem_mib - device->reserved_mib};
        return true;
    }
    *point = '\0';
    const mock_mig *found = NULL;
    if (mock_parse_fixed(word, 0, &number) && mock_parse_fixed(point + 1, 0, &index)) {
        found = mock_scenario_mig(scenario, number, index);
    }
    if (found == NULL) {
        return mock_complain(line, "%s.%s: not a mig N INDEX declared above this line", word,
                             point + 1);
    }
    mock_mig *mig = &scenario->migs[found - scenario->migs];
    *owner = (series_owner){mig->series, mig->mem_mib};
    return true;
}

bool mock_read_series(mock_line *line, mock_scenario *scenario) {
    series_owner owner = {0};
    if (!read_owner(line, scenario, &owner)) {
        return false;
    }
    const char *word = mock_next_word(line);
    int kind = 0;
    while (kind < MOCK_SERIES_COUNT && (word == NULL || strcmp(word, FORMATS[kind].word) != 0)) {
        kind++;
    }
    if (kind == MOCK_SERIES_COUNT) {
        return complain_of_kind(line, word);
    }
    mock_series *series = &owner.series[kind];
    if (series->count > 0) {
        return mock_complain(line, "series %s: there is one already", word);
    }
    word = mock_next_word(line);
    if (FORMATS[kind].decimals > 0 && word != NULL && strcmp(word, "linear") == 0) {
        series->linear = true;
        word = mock_next_word(line);
    }
    int64_t maximum = FORMATS[kind].maximum > 0 ? FORMATS[kind].maximum : owner.memory_mib;
    return read_points(line, word, scenario, series, &FORMATS[kind], maximum);
}
