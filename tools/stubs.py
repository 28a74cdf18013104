"""Write the type stub of every package that has a registry, beside its `__init__.py`."""

from importlib import import_module
from pathlib import Path

import tamiz
from tamiz.registry import Registry

ROOT = Path(tamiz.__file__).parent

for init in sorted(ROOT.glob("**/__init__.py")):
    package = ".".join(["tamiz", *init.parent.relative_to(ROOT).parts])
    registry = getattr(import_module(package), "registry", None)
    if isinstance(registry, Registry):
        init.with_suffix(".pyi").write_text(registry.stub(), encoding="utf-8")
