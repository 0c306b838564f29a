"""Whether the process that writes a trace still exists, as far as this machine can tell."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Host", "local_host", "writer_is_gone"]

_STATE_FIELD = 3  # of /proc/PID/stat, see proc(5)
_START_TIME_FIELD = 22
_START_UNKNOWN = 0  # of a writer without /proc


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The machine, boot and PID namespace that this process can see processes of.

    `proc_root` is where processes of that namespace are found by their number.
    """

    hostname: str
    boot_id: str | None
    pid_namespace: int | None
    proc_root: Path


def local_host(proc_root: Path = Path("/proc")) -> Host:
    """Describe this machine; what cannot be read is `None`."""
    try:
        boot_id = (proc_root / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot_id = None
    try:
        pid_namespace = (proc_root / "self/ns/pid").stat().st_ino
    except OSError:
        pid_namespace = None
    return Host(
        hostname=platform.node(),
        boot_id=boot_id,
        pid_namespace=pid_namespace,
        proc_root=proc_root if _has_our_numbers(proc_root) else Path(os.devnull),
    )


def _has_our_numbers(proc_root: Path) -> bool:
    """Say whether this is not the /proc of another PID namespace."""
    try:
        return (proc_root / "self").readlink().name == str(os.getpid())
    except OSError:
        return False


def writer_is_gone(probe: Mapping[str, Any], host: Host) -> bool:
    """Say whether the writer that a probe block names certainly no longer exists.

    What cannot be decided from here (another machine, another PID namespace, keys that are missing)
    is not gone.
    """
    boot_id = probe.get("boot_id")
    if boot_id is not None and host.boot_id is not None and boot_id != host.boot_id:
        return probe.get("hostname") == host.hostname  # the same machine, booted since
    same_boot = boot_id is not None and boot_id == host.boot_id
    if not same_boot and probe.get("hostname") != host.hostname:
        return False
    if None not in (probe.get("pid_ns"), host.pid_namespace) and (
        probe.get("pid_ns") != host.pid_namespace
    ):
        return False
    pid, started = probe.get("pid"), probe.get("pid_start")
    if not isinstance(pid, int) or not isinstance(started, int) or started == _START_UNKNOWN:
        return False
    return not _runs(pid, started, host.proc_root)


def _answers(pid: int) -> bool:
    """Say whether there is a process of this number, which /proc may hide (`hidepid`)."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _runs(pid: int, started_ticks: int, proc_root: Path) -> bool:
    try:
        stat = (proc_root / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return _answers(pid)
    except OSError:
        return True
    # The name in parentheses may itself contain blanks and parentheses.
    fields = stat[stat.rfind(b")") + 1 :].split()
    try:
        state = fields[_STATE_FIELD - 3]
        start_time = int(fields[_START_TIME_FIELD - 3])
    except (IndexError, ValueError):
        return True
    return start_time == started_ticks and state not in (b"Z", b"X", b"x")
