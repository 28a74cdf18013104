"""Print the structure of the package in numbers: modules, their sizes and importers, circles, and files on the path of a call.

python tools/structure.py
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import Counter, defaultdict
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src"
# Public functions, constructors and commands have one documented option for each parameter.
PUBLIC = [
    "tamiz", "tamiz.assessment", "tamiz.cluster", "tamiz.comparison", "tamiz.criteria", "tamiz.display",
    "tamiz.error_control", "tamiz.graphs", "tamiz.metrics", "tamiz.neighbors", "tamiz.reduction", "tamiz.search", "tamiz.table",
]  # fmt: skip
LIMITS = {"kernels": 12, "public functions and commands": None, "other functions": 8}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.AST, modules: set[str]) -> set[str]:
    """Return the modules that a file imports anywhere, also inside functions and for type checkers."""
    found = set()
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [
                f"{node.module}.{a.name}" if f"{node.module}.{a.name}" in modules else node.module for a in node.names
            ]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        found.update(name for name in names if name in modules)
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected sets of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            members = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(members) > 1:
                found.append(members)

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def parse_package() -> dict[str, tuple[Path, ast.Module]]:
    """Return the path and the syntax tree of every module by name."""
    return {module_name(path): (path, ast.parse(path.read_text())) for path in sorted(ROOT.rglob("*.py"))}


def import_graph(trees: dict[str, tuple[Path, ast.Module]]) -> dict[str, set[str]]:
    """Return the other modules that each module imports."""
    return {name: imports(tree, set(trees)) - {name} for name, (_, tree) in trees.items()}


def signature_group(module: str, name: str, function: ast.FunctionDef | ast.AsyncFunctionDef, public: set[str]) -> str:
    """Return the group of LIMITS that a function or a constructor belongs to, named by its class."""
    if module.startswith("tamiz.kernels."):
        return "kernels"
    is_command = module.startswith("tamiz.cli.") and function.decorator_list
    return "public functions and commands" if is_command or name in public else "other functions"


def files_called(call) -> int:
    """Return how many files of the package run code in a call, those of other threads left out."""
    seen = set()

    def profile(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            seen.add(frame.f_code.co_filename)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(seen)


def main() -> None:
    trees = parse_package()
    sizes = {name: len(path.read_text().splitlines()) for name, (path, _) in trees.items()}
    code = {name: size for name, size in sizes.items() if trees[name][0].name != "__init__.py"}
    graph = import_graph(trees)
    importers = Counter(name for imported in graph.values() for name in imported)
    public = {name for package in PUBLIC for name in import_module(package).__all__}
    files, classes, longest, widest = Counter(), defaultdict(int), [], defaultdict(list)
    for name, (path, tree) in trees.items():
        if path.name != "__init__.py":
            files[path.name] += 1
        owners = {part: node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for part in node.body}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name] += 1
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                doc = ast.get_docstring(node, clean=False)
                length = node.end_lineno - node.lineno + 1 - (doc.count("\n") + 1 if doc else 0)
                n_parameters = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
                called = owners.get(node, node.name) if node.name == "__init__" else node.name
                longest.append((length, f"{name}.{node.name}"))
                widest[signature_group(name, called, node, public)].append((n_parameters, f"{name}.{called}"))
    print("modules:", len(code), "| lines:", sum(sizes.values()), "| median lines:", statistics.median(code.values()))
    print("modules with one importer:", sum(importers[name] == 1 for name in code))
    print("repeated file names:", sorted(name for name, count in files.items() if count > 1))
    print("repeated public class names:", sorted(name for name, count in classes.items() if count > 1))
    print("circles of imports:", circles(graph))
    print("longest functions:", sorted(longest, reverse=True)[:3])
    for group, limit in LIMITS.items():
        above = "" if limit is None else f" ({sum(n > limit for n, _ in widest[group])} above {limit})"
        print(f"largest signatures of {group}{above}:", sorted(widest[group], reverse=True)[:5])
    print("largest modules:", sorted(((size, name) for name, size in code.items()), reverse=True)[:5])

    from sklearn.datasets import load_breast_cancer

    from tamiz import SubsetSelector, study
    from tamiz.reduction import LaplacianEigenmaps

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    for name, call in (
        ("LaplacianEigenmaps.fit", lambda: LaplacianEigenmaps().fit(X)),
        ("SubsetSelector.fit", lambda: SubsetSelector().fit(X, y)),
        ("study", lambda: study(X, y)),
    ):
        print(f"files on the path of {name}: {files_called(call)}")


if __name__ == "__main__":
    main()
