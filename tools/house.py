"""Write the diagram of the packages into CONTRIBUTING.md: the layers of import-linter's contract and the packages' docstrings.

python tools/house.py
"""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- the house: written by tools/house.py -->\n", "<!-- end of the house -->\n"
WIDTH = 18


def subject(module: str) -> tuple[str, str]:
    """Return the name of a module or package as it is written in the diagram, and the first sentence of its docstring."""
    path = ROOT / "src" / Path(*module.split("."))
    is_package = path.is_dir()
    table = (path / "__init__.py" if is_package else path.with_suffix(".py")).read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(table)) or ""
    return path.name + "/" * is_package, docstring.split("\n")[0].rstrip(".")


def diagram() -> str:
    """Return one line a module, the top layer first; modules of one layer do not import each other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    lines = []
    for layer in contracts[0]["layers"]:
        for module in layer.split(" | "):
            name, text = subject(module)
            lines.append(f"    {name:<{WIDTH}}{text}")
    return "\n".join(lines) + "\n"


def guide_with_diagram(text: str) -> str:
    """Return the guide with the diagram of today between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{diagram()}\n{END}{after}"


if __name__ == "__main__":
    GUIDE.write_text(guide_with_diagram(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
