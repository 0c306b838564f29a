"""Close the checks on a real GPU: the rows of all stages as one table; status 1 for a miss."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpu_rows import Failure, as_table, facts_as_text, missed, read, write
from report import as_text

# What a stage ends with when it did not end by itself.
ENDED = {
    "124": "took longer than it may",
    "137": "took longer than it may, and was killed",
    "not started": "not started: the time was up",
}


def main() -> int:
    """Add a failure to the rows, or make the table of them."""
    parser = argparse.ArgumentParser(description="Make the table, or note how a stage ended.")
    parser.add_argument("results", type=Path, help="JSON lines")
    parser.add_argument("--ended", nargs=2, metavar=("STAGE", "STATUS"))
    arguments = parser.parse_args()
    if arguments.ended:
        stage, status = arguments.ended
        words = ENDED.get(status, f"ended with status {status}")
        write(arguments.results, [Failure(stage=stage, failed=words)])
        return 0
    rows = read(arguments.results) if arguments.results.exists() else []
    if facts := facts_as_text(rows):
        print(f"{facts}\n")
    print(as_text(as_table(rows)))
    print(f"\n{missed(rows)} missed of {sum('ok' in row or 'failed' in row for row in rows)}")
    return 1 if missed(rows) or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
