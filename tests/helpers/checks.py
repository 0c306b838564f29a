"""`gpu-probe --check` as tests read it."""

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from helpers.wrapper import Wrapper


def check(
    wrapper: Wrapper, *, options: Sequence[str] = (), **variables: str
) -> dict[str, dict[str, Any]]:
    """Run the check; return its rows by block, device and key."""
    done = subprocess.run(
        [*wrapper.entry, "--workdir", str(wrapper.directory), "--check", "--json", *options],
        env=os.environ | wrapper.environment | variables,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["schema"] == 1
    rows = {}
    for row in found["checks"]:
        assert row["ok"] == (row["source"] is not None) == (row["reason"] is None)
        assert row["next_step"] is None or not row["ok"]
        name = f"{row['key']}@{row['device']}" if "device" in row else row["key"]
        rows[f"{row['block']}.{name}"] = row
    return rows
