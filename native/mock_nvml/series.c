#include "series.h"

#include <stddef.h>

enum { FRACTION_BITS = 20 }; /* of one millionth times one ns, kept while linear pieces add up */

/* Index of the last point at or before t_ns, or -1. */
static int64_t point_before(const mock_series *series, int64_t t_ns) {
    int64_t low = 0, high = series->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (series->points[middle].t_ns <= t_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - 1;
}

static mock_int128 floor_divide(mock_int128 numerator, mock_int128 denominator) {
    mock_int128 quotient = numerator / denominator;
    return quotient * denominator > numerator ? quotient - 1 : quotient;
}

/* True when the piece that starts at point i is a slope. */
static bool is_slope(const mock_series *series, int64_t i) {
    return series->linear && i + 1 < series->count &&
           series->points[i].value_micro != series->points[i + 1].value_micro;
}

int64_t mock_series_at(const mock_series *series, int64_t t_ns) {
    int64_t i = point_before(series, t_ns);
    if (i < 0) {
        return 0;
    }
    const mock_point *p = &series->points[i];
    if (!is_slope(series, i)) {
        return p->value_micro;
    }
    mock_int128 rise = p[1].value_micro - p[0].value_micro;
    return p->value_micro + (int64_t)floor_divide(rise * (t_ns - p[0].t_ns), p[1].t_ns - p[0].t_ns);
}

/* What the slope p[0]..p[1] adds, between a_ns and b_ns, to the rectangle under p[0]; in 2^-20
 * units, rounded to the nearest. At most two slopes are cut by the ends of an interval (a whole one
 * adds a half at most), and where their fractions add up to a whole number, so do the rounded. */
static mock_int128 slope_part(const mock_point *p, int64_t a_ns, int64_t b_ns) {
    mock_int128 rise = p[1].value_micro - p[0].value_micro;
    mock_int128 a = a_ns - p[0].t_ns, b = b_ns - p[0].t_ns;
    mock_int128 numerator = rise * (b * b - a * a);
    mock_int128 denominator = 2 * (mock_int128)(p[1].t_ns - p[0].t_ns);
    mock_int128 whole = floor_divide(numerator, denominator);
    mock_int128 rest = numerator - whole * denominator;
    const mock_int128 one = (mock_int128)1 << FRACTION_BITS;
    return whole * one + (rest * one + denominator / 2) / denominator;
}

mock_int128 mock_series_integral(const mock_series *series, int64_t a_ns, int64_t b_ns) {
    const mock_int128 one = (mock_int128)1 << FRACTION_BITS;
    mock_int128 sum = 0;
    int64_t i = point_before(series, a_ns);
    for (i = i < 0 ? 0 : i; i < series->count && series->points[i].t_ns < b_ns; i++) {
        const mock_point *p = &series->points[i];
        int64_t from = p->t_ns > a_ns ? p->t_ns : a_ns;
        int64_t to = i + 1 < series->count && p[1].t_ns < b_ns ? p[1].t_ns : b_ns;
        if (from >= to) {
            continue;
        }
        sum += (mock_int128)p->value_micro * (to - from) * one;
        if (is_slope(series, i)) {
            sum += slope_part(p, from, to);
        }
    }
    return sum / one; /* no value is negative, nor is the sum */
}
