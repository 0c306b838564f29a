from pathlib import Path

from accuracy_cases import Case
from accuracy_page import tables_of, write_page
from accuracy_rows import Row


def row(metric: str = "pct", **values: object) -> Row:
    stated = {
        "scenario": "burst",
        "truth": 29.98765,
        "ours": 30,
        "peers": {"poll": 91.2, "mute": None},
        "unit": "%",
        "demand": "1 pp",
        "missed": False,
        **values,
    }
    return Row(metric=metric, **stated)  # type: ignore[arg-type]


def test_a_table_holds_errors_and_leaves_out_who_says_nothing() -> None:
    [table] = tables_of([row()])
    assert table.head == ("truth", "gpu-probe", "demanded", "poll")
    assert table.rows == (("burst", "29.99", "+0.01", "1 pp", "+61.21"),)


def test_a_miss_and_an_absent_figure_show() -> None:
    [table] = tables_of([row(ours=None, missed=True)])
    assert table.rows[0][2:4] == ("-", "1 pp - MISSED")


def test_each_figure_has_its_table_with_a_line_for_each_device() -> None:
    first, second = tables_of([row(), row("devices[1].pct"), row("avg_mem")])
    assert [cells[0] for cells in first.rows] == ["burst", "burst, devices[1]"]
    assert [cells[0] for cells in second.rows] == ["burst"]


def test_the_page_says_what_was_run_what_missed_and_who_was_not_there(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    rows = [row(), row("peak", missed=True)]
    write_page(page, [Case("burst", 10, "80 ms of work")], rows, "a CPU, 2 cores")
    text = page.read_text()
    assert "Machine: a CPU, 2 cores. 2 figures, 1 missed." in text
    assert "Not there, or without an answer: mute." in text
    assert "| `burst` | 10 s | 80 ms of work |" in text
    assert "| burst | 29.99 | +0.01 | 1 pp - MISSED | +61.21 |" in text
