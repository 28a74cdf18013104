"""README, changelog and documentation name only what exists: calls, parameters, commands and options in a line of text.

Code in blocks of its own is run by the doctests.
"""

import ast
import builtins
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import tamiz
from tamiz.cli import main
from tamiz.runtime.registry import Registry

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CHANGELOG.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
COMMANDS = {
    name: {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for name, command in main.commands.items()
}
# What pages compare with, and functions and keys of files that a reader writes.
OTHERS = [
    "decomposition",
    "cluster",
    "feature_selection",
    "frozen",
    "linear_model",
    "manifold",
    "metrics",
    "model_selection",
    "neighbors",
]
FOREIGN = {"isomap", "pdist", "score", "bind", "sum", "target", "fixed", "departure", "whiten_solver"}


def public_callables():
    """Return the public classes and functions by name, and the methods of the classes by name."""
    named, methods = {}, {}
    folder = Path(tamiz.__file__).parent
    for init in sorted(folder.glob("**/__init__.py")):
        package = importlib.import_module(".".join(["tamiz", *init.parent.relative_to(folder).parts]))
        if isinstance(getattr(package, "registry", None), Registry):
            named.update({n: m for n in package.__all__ if callable(m := getattr(package, n))})
    # The classes of results are not public by name; their methods are.
    results = [
        getattr(sys.modules[m.__module__], str(getattr(m, "__annotations__", {}).get("return")), m)
        for m in named.values()
    ]
    for member in filter(inspect.isclass, results):
        for name, method in inspect.getmembers(member, lambda m: inspect.isfunction(m) or inspect.ismethod(m)):
            if not name.startswith("_"):
                methods.setdefault(name, []).append(method)
    return named, methods


PUBLIC, METHODS = public_callables()
PARAMETERS = {
    name for member in sum(METHODS.values(), [*PUBLIC.values()]) for name in inspect.signature(member).parameters
}


def candidates(function):
    """Return what the function of a call may be, and None for a function of another package."""
    if isinstance(function, ast.Name):
        name = function.id
        if name in PUBLIC or name in METHODS:
            return [*([PUBLIC[name]] if name in PUBLIC else []), *METHODS.get(name, [])]
        known = FOREIGN | set(dir(builtins))
        return (
            None if name in known or any(hasattr(importlib.import_module(f"sklearn.{o}"), name) for o in OTHERS) else []
        )
    name, owner = function.attr, function.value
    owner = owner.func if isinstance(owner, ast.Call) else owner
    if name in PUBLIC and isinstance(owner, (ast.Name, ast.Attribute)):
        return [PUBLIC[name]]
    if isinstance(owner, ast.Name) and owner.id in PUBLIC:
        return [getattr(PUBLIC[owner.id], name)] if hasattr(PUBLIC[owner.id], name) else []
    return None if name in FOREIGN else METHODS.get(name, [])


def binds(call, function):
    """Return whether a function accepts the arguments of a call; an ellipsis stands for others."""
    given = [None for a in call.args if not (isinstance(a, ast.Constant) and a.value is ...)]
    signature = inspect.signature(function)
    if "self" in signature.parameters:
        given.insert(0, None)
    try:
        signature.bind_partial(*given, **{k.arg: None for k in call.keywords})
    except TypeError:
        return False
    return True


def check_python(code):
    """Return what is wrong in a piece of Python, or None; text that is no Python is right."""
    code = re.sub(r"=(?=\s*[,)]|$)", "=None", re.sub(r"^with (.*):$", r"\1", code))
    try:
        whole = ast.parse(f"_({code})", mode="eval").body
    except SyntaxError:
        return None
    for keyword in whole.keywords:
        if keyword.arg not in PARAMETERS | FOREIGN:
            return f"no public function has a parameter {keyword.arg!r}"
    for call in (node for node in ast.walk(whole) if isinstance(node, ast.Call) and node is not whole):
        found = candidates(call.func)
        if found is not None and not any(binds(call, function) for function in found):
            return f"{ast.unparse(call.func)} {'does not accept these arguments' if found else 'is not public'}"
    return None


def check_command(words):
    """Return what is wrong in a command line or an option, or None."""
    name = next((word for word in words[:2] if word in COMMANDS), None)
    if words[0] == "tamiz" and name is None and len(words) > 1 and words[1][0].isalpha():
        return f"tamiz has no command {words[1]!r}"
    options = COMMANDS[name] if name else set().union(*COMMANDS.values())
    wrong = [
        word
        for word in words
        if re.match(r"--\w", word) and word.split("=")[0] not in {*options, "--help", "--version"}
    ]
    return f"{name or 'no command'} has {'no ' if name else ''}option {wrong[0]}" if wrong else None


def named_in(text):
    """Yield the lines and the pieces of code that a page names, without its doctests."""
    for block in re.finditer(r"^```.*?^```", text, re.MULTILINE | re.DOTALL):
        for command in re.finditer(r"^\$ (tamiz .*)", block.group(), re.MULTILINE):
            yield text.count("\n", 0, block.start() + command.start()) + 1, command.group(1)
    prose = re.sub(r"^```.*?^```", lambda block: "\n" * block.group().count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    for piece in re.finditer(r"`([^`]+)`", prose):
        yield prose.count("\n", 0, piece.start()) + 1, piece.group(1)


def mistakes(text):
    for line, code in named_in(text):
        words = code.split()
        on_command_line = words[0] in ("tamiz", *COMMANDS) or words[0].startswith("--")
        wrong = check_command(words) if on_command_line and "(" not in words[0] else check_python(" ".join(words))
        if wrong:
            yield line, code, wrong


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    if page == "docs/scikit-learn.md":
        # The first column of its tables is scikit-learn's.
        text = re.sub(r"^\|.*?\|", "", text, flags=re.MULTILINE)
    assert [f"{page}:{line}: `{code}`: {wrong}" for line, code, wrong in mistakes(text)] == []


@pytest.mark.parametrize(
    "code",
    [
        *(
            "open_table(..., like=schema)",
            "SpectralClustering(2, assign='kmeans')",
            "reduction.PCA(2, 3)",
            "NoName(2)",
        ),
        *(
            "Graph.from_nothing(S)",
            "RedundancyFilter().fit(X, labels=y)",
            "graph=KNearest(k=3)",
            "assign=",
            "x.transform(labels=)",
        ),
        *("tamiz rank t.csv --search cfs", "rank --search", "--no-option 3", "tamiz describe t.csv"),
    ],
)
def test_a_mistake_is_found_with_its_line(code):
    (found,) = mistakes(f"# Title\n\nThe call\n`{code}`.\n")
    assert found[:2] == (4, code)


def test_no_docstring_has_a_word_that_the_site_reads_as_the_name_of_a_link():
    found = []
    for path in (ROOT / "src").rglob("*.py"):
        for docstring in path.read_text("utf-8").split('"""')[1::2]:
            text = re.split(r"Examples\n *---", docstring)[0]
            text = re.sub(r"`[^`]*`|\.\. math::.*?(\n\n|$)", "", text, flags=re.DOTALL)
            # Not the names of attributes, before a colon.
            words = re.findall(r"^(?!\s*[\w, ]+ :).*?(?<![\w.])([A-Za-z][\w.]*_)(?!\w)", text, flags=re.MULTILINE)
            found += [(path.name, word) for word in words]
    assert not found
