"""Secrets in the `env` field: the values of variables that look secret are never kept.

Nextflow's own pattern runs across line ends, knows few names, and masks one line of a value. Here
each variable is looked at alone, with all its lines. `docs/collect.md` lists the differences.
"""

import re

__all__ = ["mask_environment"]

_MASK = "[secure]"
_VARIABLE = re.compile(r"\s*(?:export\s+|declare\s+-x\s+)?([A-Za-z_][A-Za-z0-9_.\-]*)=")
_PADDING = re.compile(r"[A-Za-z0-9+/]+={1,2}$")  # the last line of base64, which looks like `A=`

# Parts of names, any case. The first five are Nextflow's; AWS it knows at the start alone.
_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|API_?KEY|(?:^|[_.\-])AWS|PASSW|PASSPHRASE|(?:^|[_.\-])PASS(?:$|[_.\-])|.PWD$"
    r"|CREDENTIAL|PRIVATE|KEY$|AUTH(?!ORS?(?:$|_))|COOKIE|JWT|SIGNATURE|(?:^|_)SAS(?:_|$)",
    re.IGNORECASE,
)
_OPEN_NAMES = frozenset({"OLDPWD"})

# Values that are secret whatever their variable is called.
_SECRET_VALUE = re.compile(
    r"-----BEGIN |\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-)[A-Za-z0-9_\-]{8}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\beyJ[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+"
    r"|\b(?:Bearer|Basic)\s+\S",
)
_SECRET_PARAMETER = re.compile(
    r"^(.*(?:TOKEN|SECRET|API_?KEY|PASSWORD|SIGNATURE)[^=]*)=.*$", re.IGNORECASE | re.DOTALL
)
_URL_PASSWORD = re.compile(r"(\w://[^/\s:@]*):[^/\s@]+@")


def mask_environment(environment: str) -> str:
    """Replace the values of secret-looking variables in lines of `NAME=value` by `[secure]`.

    A line that starts no variable belongs to the one before it.
    """
    body = environment.rstrip("\n")
    variables: list[list[str]] = []
    for line in body.split("\n"):
        if variables and not _starts_variable(line, variables[-1]):
            variables[-1].append(line)
        else:
            variables.append([line])
    masked = "\n".join(_masked("\n".join(lines)) for lines in variables)
    return masked + environment[len(body) :]


def _starts_variable(line: str, before: list[str]) -> bool:
    if len(before) > 1 and _PADDING.fullmatch(line):
        return False
    inside_key = any("-----BEGIN " in text for text in before) and not any(
        "-----END " in text for text in before
    )
    return not inside_key and _VARIABLE.match(line) is not None


def _masked(variable: str) -> str:
    start = _VARIABLE.match(variable)
    if start is None:
        return variable if _SECRET_VALUE.search(variable) is None else _MASK
    name, value = start[1], variable[start.end() :]
    secret_name = _SECRET_NAME.search(name) is not None and name not in _OPEN_NAMES
    if secret_name or _SECRET_VALUE.search(value):
        return f"{start[0]}{_MASK}"
    value = _URL_PASSWORD.sub(rf"\1:{_MASK}@", value)
    return start[0] + _SECRET_PARAMETER.sub(rf"\1={_MASK}", value)
