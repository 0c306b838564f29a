"""Reader of `.command.run`, Nextflow's wrapper script: its head says which task it runs."""

import os
import re
from pathlib import Path

from collector.files import StrPath

__all__ = ["COMMAND_RUN_FILE", "read_task_name"]

COMMAND_RUN_FILE = Path(".command.run")
_HEAD_BYTES = 4096
# The first of newer Nextflow, the second of all.
_NAME = re.compile(rb"^(?:### name: '(.*)'|#\s?NEXTFLOW TASK: (.*))$", re.MULTILINE)


def read_task_name(path: StrPath) -> str | None:
    """Return the task's name, such as `ALIGN (sample1)`; `None` where the script names none.

    Raises:
        OSError: the file cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        head = os.read(descriptor, _HEAD_BYTES)
    finally:
        os.close(descriptor)
    match = _NAME.search(head)
    return None if match is None else (match[1] or match[2] or b"").decode("utf-8", "replace")
