"""One sampler and several threads that ask it."""

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import probe


def test_many_threads_may_ask(tmp_path: Path) -> None:
    states: list[Any] = []
    with probe.Sampler(tmp_path, interval=0.01) as sampler:
        threads = [
            threading.Thread(
                target=lambda: states.extend(
                    sampler.snapshot()["probe"]["state"] for _ in range(20)
                )
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert states == ["running"] * 80


def test_asking_while_another_thread_stops_is_safe(tmp_path: Path) -> None:
    code = """
        import sys, threading, probe
        def ask(sampler):
            try:
                while True:
                    sampler.snapshot()
            except probe.ProbeError:
                pass
        for _ in range(60):
            sampler = probe.Sampler(sys.argv[1], interval=0.01).start()
            threads = [threading.Thread(target=ask, args=[sampler]) for _ in range(4)]
            for thread in threads: thread.start()
            sampler.stop()
            for thread in threads: thread.join()
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"},  # freed memory is unmapped: no luck
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
