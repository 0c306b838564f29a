from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Series

times = st.fractions(min_value=0, max_value=20, max_denominator=1000)
values = st.fractions(min_value=0, max_value=100, max_denominator=100)

seeded = settings(derandomize=True, deadline=None)


@st.composite
def some_series(draw: st.DrawFn) -> Series:
    points = draw(st.lists(st.tuples(times, values), max_size=6))
    return Series(tuple(sorted(points, key=lambda point: point[0])), draw(st.booleans()))


def step(*numbers: int) -> Series:
    return Series(tuple((F(t), F(v)) for t, v in zip(numbers[::2], numbers[1::2], strict=True)))


def line(*numbers: int) -> Series:
    return Series(step(*numbers).points, linear=True)


def test_a_step_holds_its_value_until_the_next() -> None:
    series = step(1, 10, 3, 40)
    assert [series.at(F(t)) for t in (0, 1, 2, 3, 9)] == [0, 10, 10, 40, 40]


def test_a_line_runs_from_point_to_point_and_is_flat_outside() -> None:
    series = line(2, 10, 4, 30)
    assert [series.at(F(t)) for t in (1, 2, 3, 4, 9)] == [0, 10, 20, 30, 30]


def test_two_points_at_one_time_make_a_step_of_a_line() -> None:
    series = line(0, 10, 2, 10, 2, 50, 4, 70)
    assert [series.at(F(t)) for t in (1, 2, 3)] == [10, 50, 60]
    assert series.largest(F(0), F(2)) == 10


def test_no_points_are_zero() -> None:
    nothing = Series()
    assert nothing.at(F(3)) == nothing.integral(F(0), F(9)) == nothing.largest(F(0), F(1)) == 0


def test_areas_by_hand() -> None:
    assert step(1, 10, 3, 40).integral(F(0), F(4)) == 2 * 10 + 1 * 40
    assert line(2, 10, 4, 30).integral(F(1), F(5)) == 0 + 2 * 20 + 1 * 30
    assert line(0, 0, 3, 1).integral(F(1), F(2)) == F(1, 2)  # no third of anything is rounded


def test_the_largest_value_of_a_rising_line_is_the_one_that_it_comes_up_to() -> None:
    assert line(0, 0, 10, 100).largest(F(2), F(7)) == 70
    assert step(0, 5, 7, 90).largest(F(2), F(7)) == 5  # the end does not belong to it


def test_jumps_are_steps_up_and_down_but_no_slopes() -> None:
    assert step(1, 10, 2, 4).jumps(F(0), F(3)) == 10 + 6
    assert step(1, 10, 2, 4).jumps(F(1), F(2)) == 0
    assert line(0, 0, 2, 8, 2, 5, 4, 0).jumps(F(1), F(4)) == 3


def test_a_value_moves_in_steps_and_on_slopes() -> None:
    assert not step(0, 7, 3, 7, 6, 8).moves(F(1), F(5))
    assert step(0, 7, 3, 8).moves(F(1), F(5))
    assert line(0, 0, 4, 8).moves(F(1), F(2))


def test_an_empty_interval_has_no_largest_value() -> None:
    with pytest.raises(ValueError, match="empty"):
        step(0, 1).largest(F(2), F(2))


@seeded
@given(some_series(), st.lists(times, min_size=3, max_size=3).map(sorted))
def test_areas_add_up(series: Series, cuts: list[F]) -> None:
    a, b, c = cuts
    assert series.integral(a, b) + series.integral(b, c) == series.integral(a, c)


@seeded
@given(some_series(), times, times)
def test_the_mean_lies_between_zero_and_the_largest(series: Series, start: F, length: F) -> None:
    if length > 0:
        mean = series.integral(start, start + length) / length
        assert 0 <= mean <= series.largest(start, start + length) <= 100


@seeded
@given(some_series(), times, times)
def test_pieces_cover_without_gaps(series: Series, start: F, length: F) -> None:
    pieces = list(series.pieces(start, start + length))
    edges = [start, *(p.end for p in pieces)]
    assert [p.start for p in pieces] == edges[:-1]
    assert edges[-1] == start + length


@seeded
@given(some_series(), times)
def test_a_value_is_the_limit_of_means(series: Series, t: F) -> None:
    near = F(1, 10**9)
    assert abs(series.integral(t, t + near) / near - series.at(t)) <= F(1, 100)
