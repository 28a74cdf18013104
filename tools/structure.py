"""Count the structure of the package: lines of code, modules, floors, longest functions, and files that a call runs through.

python tools/structure.py           prints the counts beside their limits in structure.toml; fails if one is above
python tools/structure.py --calls   counts the files that seven calls run through, too
python tools/structure.py --lower   counts all, and writes every count that is below its limit as the limit
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import tomllib
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1] / "src"
LIMITS = Path(__file__).with_suffix(".toml")
# Public functions, constructors and commands have one documented option for each parameter.
PUBLIC = [
    "tamiz", "tamiz.assessment", "tamiz.cluster", "tamiz.comparison", "tamiz.criteria", "tamiz.display",
    "tamiz.error_control", "tamiz.graphs", "tamiz.metrics", "tamiz.neighbors", "tamiz.reduction", "tamiz.search", "tamiz.table",
]  # fmt: skip
UPPER = ("_study", "report", "cli", "display")
Trees = dict[str, tuple[Path, ast.Module]]
Graph = dict[str, set[str]]


def parse_package() -> Trees:
    """Return the path and the syntax tree of every module by name."""
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in sorted(ROOT.rglob("*.py"))}
    return {name.removesuffix(".__init__"): (path, ast.parse(path.read_text())) for name, path in paths.items()}


def count_code(path: Path, tree: ast.Module) -> int:
    """Return the number of lines without comments, docstrings and blank lines."""
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type not in silent:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        has_body = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if has_body and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def import_graph(trees: Trees) -> Graph:
    """Return the other modules that each module imports anywhere, also inside functions and for type checkers."""
    graph: Graph = {}
    for name, (_, tree) in trees.items():
        found: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{one.name}" for one in node.names}
                found |= {one if one in trees else node.module for one in inside}
            elif isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
        graph[name] = (found & trees.keys()) - {name}
    return graph


def find_circles(graph: Graph) -> list[list[str]]:
    """Return the sets of modules that import each other, in circles."""
    reached = {name: set(others) for name, others in graph.items()}
    changed = True
    while changed:
        changed = False
        for name, others in reached.items():
            more = set().union(*(reached[one] for one in others), others)
            changed |= len(more) > len(others)
            reached[name] = more
    in_circles = (one for one in reached if one in reached[one])
    return [
        list(circle)
        for circle in sorted({tuple(sorted(two for two in reached[one] if one in reached[two])) for one in in_circles})
    ]


def count_floors(graph: Graph) -> int:
    """Return the number of modules in the longest chain of imports; a chain ends where it comes back to one of its modules."""
    heights: dict[str, int] = {}

    def height(name: str, above: frozenset[str]) -> int:
        if name not in heights:
            below = [height(one, above | {name}) for one in sorted(graph[name] - above)]
            heights[name] = 1 + max(below, default=0)
        return heights[name]

    return max((height(name, frozenset({name})) for name in sorted(graph)), default=0)


def measure_functions(trees: Trees) -> tuple[tuple[int, str], tuple[int, str], tuple[int, str]]:
    """Return the longest function, the longest kernel, and the largest signature of a function that is not public."""
    public = {name for package in PUBLIC for name in import_module(package).__all__}
    longest, longest_kernel, widest = (0, ""), (0, ""), (0, "")
    for module, (_, tree) in trees.items():
        owners = {part: node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for part in node.body}
        is_kernel = module.startswith("tamiz.kernels.")
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            doc = ast.get_docstring(node, clean=False)
            length = (node.end_lineno or 0) - node.lineno + 1 - (doc.count("\n") + 1 if doc else 0)
            called = owners.get(node, node.name) if node.name == "__init__" else node.name
            if is_kernel:
                longest_kernel = max(longest_kernel, (length, f"{module}.{node.name}"))
            else:
                longest = max(longest, (length, f"{module}.{node.name}"))
                if called not in public and not (module.startswith("tamiz.cli.") and node.decorator_list):
                    n = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
                    widest = max(widest, (n, f"{module}.{called}"))
    return longest, longest_kernel, widest


def count_files(call) -> int:
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


def count_files_of_calls() -> dict[str, int]:
    """Return the number of files that seven calls run through, on a table of 200 rows and 30 columns."""
    from sklearn.datasets import load_breast_cancer

    from tamiz import RankSelector, SubsetSelector, study
    from tamiz.cli import main
    from tamiz.criteria import InformationGain
    from tamiz.reduction import PCA, UMAP, LaplacianEigenmaps

    X, y = (part[:200] for part in load_breast_cancer(return_X_y=True, as_frame=True))
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_text(X.assign(target=y).to_csv(index=False))
        calls = {
            "LaplacianEigenmaps": lambda: LaplacianEigenmaps().fit(X),
            "UMAP": lambda: UMAP().fit(X),
            "PCA": lambda: PCA().fit(X),
            "RankSelector": lambda: RankSelector(InformationGain(), n_features=5).fit(X, y),
            "SubsetSelector": lambda: SubsetSelector().fit(X, y),
            "tamiz rank": lambda: main(["rank", str(path), "--target", "target"], standalone_mode=False),
            "study": lambda: study(X, y),
        }
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return {f"files of {name}": count_files(call) for name, call in calls.items()}


def count_source() -> dict[str, int]:
    """Return the counts of the source by their names in structure.toml, and print the names behind some."""
    trees = parse_package()
    graph = import_graph(trees)
    code = {name: count_code(*parsed) for name, parsed in trees.items()}
    house: Graph = {}
    for name, others in graph.items():
        if "." in name:
            package = name.split(".")[1]
            house.setdefault(package, set()).update({one.split(".")[1] for one in others if "." in one} - {package})
    models = {
        name: {one for one in graph[name] if one.startswith("tamiz.models.")}
        for name in trees
        if name.startswith("tamiz.models.")
    }
    modules = [name for name, (path, _) in trees.items() if path.name != "__init__.py"]
    importers = Counter(name for imported in graph.values() for name in imported)
    names = Counter(trees[name][0].name for name in modules)
    longest, kernel, widest = measure_functions(trees)
    print("longest:", longest[1], "| longest kernel:", kernel[1], "| largest signature:", widest[1])
    circles = find_circles(graph)
    print("circles of imports:", circles)
    return {
        "lines of code": sum(code.values()),
        "lines of code of _study, report, cli, display": sum(
            n for name, n in code.items() if name.split(".")[1:2] and name.split(".")[1] in UPPER
        ),
        "lines": sum(len(path.read_text().splitlines()) for path, _ in trees.values()),
        "modules": len(modules),
        "modules with one importer": sum(importers[name] == 1 for name in modules),
        "file names used twice": sum(n > 1 for n in names.values()),
        "circles of imports": len(circles),
        "floors of the house": count_floors(house),
        "floors of models": count_floors(models),
        "longest function": longest[0],
        "longest kernel": kernel[0],
        "largest signature inside": widest[0],
    }


def main() -> None:
    limits = tomllib.loads(LIMITS.read_text())
    asked = set(sys.argv[1:])
    counts = count_source() | (count_files_of_calls() if asked else {})
    above = []
    for name, count in counts.items():
        print(f"{name:<46} {count:>7,}  limit {limits[name]:>7,}")
        if count > limits[name]:
            above.append(f"{name}: {count:,}, and the limit is {limits[name]:,}")
    if "--lower" in asked:
        rows = [f'"{name}" = {min(limits[name], count)}' for name, count in counts.items()]
        LIMITS.write_text("\n".join([LIMITS.read_text().partition("\n")[0], *rows, ""]))
    elif above:
        sys.exit("structure.toml: " + "; ".join(above))


if __name__ == "__main__":
    main()
