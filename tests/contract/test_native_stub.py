"""What Python may see of the native core is written twice: the declarations and the stub agree."""

import ast
import re
from pathlib import Path

from probe._native import lib

REPOSITORY = Path(__file__).resolve().parents[2]


def declared() -> dict[str, int]:
    """Give the functions of probe.cdef.h with their number of parameters."""
    text = (REPOSITORY / "native/cffi/probe.cdef.h").read_text()
    found = re.findall(r"^\w[^;{}]*?(\w+)\(([^)]*)\);", text, flags=re.MULTILINE)
    return {name: 0 if args == "void" else args.count(",") + 1 for name, args in found}


def stubbed() -> dict[str, int]:
    tree = ast.parse((REPOSITORY / "src/probe/_native.pyi").read_text())
    return {
        node.name: len(node.args.args) - 1
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }


def test_stub_declarations_and_module_agree() -> None:
    assert stubbed() == declared()
    assert set(declared()) == {name for name in dir(lib) if not name.startswith("_")}


def test_declarations_repeat_the_public_header() -> None:
    def flat(text: str) -> str:
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        return re.sub(r"\s+", " ", text)

    header = flat((REPOSITORY / "native/include/probe.h").read_text())
    text = flat((REPOSITORY / "native/cffi/probe.cdef.h").read_text())
    for declaration in re.findall(r"[^;{}]+(?:\{[^}]*\}[^;]*)?;", text):
        assert declaration.strip() in header
