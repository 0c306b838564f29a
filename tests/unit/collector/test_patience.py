"""Work that hangs costs only itself."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from collector.collect.patience import Work, work_through

PATIENCE_S = 0.05


@dataclass
class Step:
    """Gives its name and then the steps below it."""

    name: str
    below: list["Step"] = field(default_factory=list)
    before: Callable[[], object] = lambda: None

    def do(self) -> tuple[list[str], Iterator[Work[str]]]:
        self.before()
        return [self.name], iter(self.below)

    def give_up(self) -> list[str]:
        return [f"gave up {self.name}"]


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What hanging steps wait for; they end with the test."""
    event = threading.Event()
    yield event
    event.set()


def names(steps: list[Step], patience_s: float = PATIENCE_S) -> list[str]:
    return list(work_through(iter(steps), patience_s=patience_s))


def test_work_is_done_depth_first_and_in_order() -> None:
    tree = [Step("a", [Step("b", [Step("c")]), Step("d")]), Step("e")]
    assert names(tree, 60) == ["a", "b", "c", "d", "e"]


def test_more_than_a_batch_is_done() -> None:
    assert names([Step(str(i)) for i in range(1000)], 60) == [str(i) for i in range(1000)]


def test_ec_3_a_step_that_hangs_is_given_up_and_the_others_are_done(
    released: threading.Event,
) -> None:
    steps = [Step("a"), Step("hung", [Step("never")], released.wait), Step("b", [Step("c")])]
    assert names(steps) == ["a", "gave up hung", "b", "c"]


def test_a_step_that_ends_too_late_is_not_counted_twice(released: threading.Event) -> None:
    last = Step("last", before=released.set)
    late = Step("late", [Step("never")], released.wait)
    assert names([late, last, *(Step(str(i)) for i in range(200))])[:3] == [
        "gave up late",
        "last",
        "0",
    ]


def test_when_everything_hangs_the_rest_is_given_up_without_a_try(
    released: threading.Event,
) -> None:
    hanging = [Step(str(i), before=released.wait) for i in range(16)]
    tried: list[int] = []
    rest = [Step(f"r{i}", before=lambda: tried.append(1)) for i in range(100)]
    found = names([*hanging, *rest], 0.01)
    assert found == [f"gave up {step.name}" for step in (*hanging, *rest)]
    assert tried == []


def test_a_bug_is_raised_where_the_results_are_wanted() -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        names([Step("a"), Step("b", before=fail)], 60)


def test_no_thread_is_left_behind() -> None:
    before = set(threading.enumerate())
    works = work_through(iter([Step(str(i)) for i in range(200)]), patience_s=60)
    next(works)
    (worker,) = set(threading.enumerate()) - before
    works.close()  # type: ignore[attr-defined]
    worker.join(10)
    assert not worker.is_alive()
