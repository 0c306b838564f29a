"""``python -m probe -- COMMAND``: become the native wrapper."""

import os
import sys

from probe._executables import find_executable


def main() -> None:
    """Replace this process by ``gpu-probe``; exit with 125 where it is not installed."""
    wrapper = find_executable("gpu-probe")
    if wrapper is None:
        sys.stderr.write(
            "python -m probe: gpu-probe is not installed beside this package; "
            "reinstall it with: pip install --force-reinstall gpu-probe\n"
        )
        sys.exit(125)
    os.execv(wrapper, ["gpu-probe", *sys.argv[1:]])


if __name__ == "__main__":
    main()
