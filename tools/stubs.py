"""Write the files generated from the registries: a type stub for every package, and the list of `tamiz methods`."""

import json
from importlib import import_module
from pathlib import Path

import tamiz
from tamiz.cli.methods import METHODS_FILE, list_methods
from tamiz.runtime.registry import Registry

ROOT = Path(tamiz.__file__).parent

for init in sorted(ROOT.glob("**/__init__.py")):
    package = ".".join(["tamiz", *init.parent.relative_to(ROOT).parts])
    registry = getattr(import_module(package), "registry", None)
    if isinstance(registry, Registry):
        init.with_suffix(".pyi").write_text(registry.stub(), encoding="utf-8")
(ROOT / "cli" / METHODS_FILE).write_text(
    json.dumps(list_methods(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
)
