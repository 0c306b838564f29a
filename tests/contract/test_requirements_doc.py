"""The table of requirements is complete, and each test that it names exists."""

import re
from pathlib import Path

from contract.test_reports_doc import defined_tests

PAGE = Path(__file__).resolve().parents[2] / "docs" / "requirements.md"
ROW = re.compile(r"^\| (?P<id>[A-Z][\w-]*) \| (?P<what>.+) \| (?P<tests>.+) \|$", re.M)
OPEN = {"B-2"}

REQUIRED = [
    *(f"FR-{number:03d}" for number in range(1, 8)),
    *(f"AS-{number}" for number in range(1, 5)),
    *(f"EC-{number}" for number in range(1, 4)),
    *(f"SC-{number:03d}" for number in range(1, 5)),
    "KEY",
    *(f"R{number}" for number in range(1, 6)),
    *(f"B-{number}" for number in range(1, 11)),
    *("T1-T3", "T4-T10", "T11-T15", "T16", "F1-F3", "F4-F7", "F8", "MASK"),
]


def test_every_requirement_has_its_row_in_order() -> None:
    assert [row["id"] for row in ROW.finditer(PAGE.read_text())] == REQUIRED


def test_every_row_names_tests_that_exist_or_is_known_to_be_open() -> None:
    defined = defined_tests()
    still_open = set()
    for row in ROW.finditer(PAGE.read_text()):
        named = set(re.findall(r"`(test_\w+)`", row["tests"]))
        assert named <= defined, f"{row['id']}: {named - defined}"
        if row["tests"].startswith("Open: "):
            still_open.add(row["id"])
        else:
            assert named, row["id"]
    assert still_open == OPEN
