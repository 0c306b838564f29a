"""Secrets in the `env` field: the values of variables that look secret are never kept."""

import re

__all__ = ["mask_environment"]

# Nextflow's names, tested on each line alone. Its own pattern runs across line ends, so that a
# secret-looking *value* stays readable and the variable after it is masked instead.
_SECRET_NAME = re.compile(r"^(?:AWS[^=]*|[^=]*(?:TOKEN|SECRET|API_?KEY)[^=]*)=", re.IGNORECASE)
_SECRET_INSIDE = re.compile(r"^(.*(?:TOKEN|SECRET|API_?KEY)[^=]*)=.*$", re.IGNORECASE)


def mask_environment(environment: str) -> str:
    """Replace the values of secret-looking variables in lines of `NAME=value` by `[secure]`."""
    return "\n".join(_mask_line(line) for line in environment.split("\n"))


def _mask_line(line: str) -> str:
    if _SECRET_NAME.match(line):
        return line.partition("=")[0] + "=[secure]"
    return _SECRET_INSIDE.sub(r"\1=[secure]", line)
