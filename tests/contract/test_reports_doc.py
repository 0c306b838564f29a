"""The maps of public reports name a test for each, and each test that they name exists."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "tests"
REPORTS = {"reports.md": 52, "reports-gpu.md": 81}
ROW = re.compile(
    r"^\| (?P<number>\d+) \| (?P<report>.+) \| (?P<here>.+) \| (?P<tests>.+) \|$", re.M
)


def defined_tests() -> set[str]:
    """Names of Python tests, of the functions of C tests that are called, and of C test files."""
    names = set()
    for path in TESTS.rglob("test_*.py"):
        names |= set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.M))
    for path in (TESTS / "native").glob("test_*.c"):
        text = path.read_text()
        main = text[text.rindex("int main(") :]
        called = set(re.findall(r"^    (\w+)\(\);$", main, re.M))
        names |= called & set(re.findall(r"^static void (\w+)\(void\) \{$", text, re.M))
        names.add(path.name)
    return names


@pytest.mark.parametrize("page", REPORTS)
def test_every_report_has_a_link_and_tests_that_exist(page: str) -> None:
    rows = list(ROW.finditer((REPOSITORY / "docs" / page).read_text()))
    assert [int(row["number"]) for row in rows] == list(range(1, REPORTS[page] + 1))
    defined = defined_tests()
    for row in rows:
        assert "](https://github.com/" in row["report"]
        named = re.findall(r"`([^`]+)`", row["tests"])
        assert named != []
        assert set(named) <= defined, f"row {row['number']}: {set(named) - defined}"
