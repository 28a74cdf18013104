"""Find the words of `language.txt` in identifiers and prose, and exit with status 1 if there are any: `python tools/language.py`.

Identifiers are those that the code of src binds. Prose is what people read: docstrings of modules and of public classes and
functions, strings of more than one word (messages, help, the report), the report's templates, README and docs.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tamiz"


class Rule(NamedTuple):
    kind: str
    pattern: re.Pattern[str]
    advice: str


def read_rules() -> list[Rule]:
    lines = (ROOT / "tools" / "language.txt").read_text(encoding="utf-8").splitlines()
    fields = (re.split(r"  +", line, maxsplit=2) for line in lines if line and not line.startswith("#"))
    return [Rule(kind, re.compile(pattern), advice) for kind, pattern, advice in fields]


def words(identifier: str) -> list[str]:
    """Return the words of an identifier in snake_case or CamelCase, in small letters."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", identifier)]


def names(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Yield the kind, line and identifier of everything that a file binds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield "name", node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield "name", node.lineno, node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield "name", node.lineno, node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield "variable", node.lineno, node.id


def prose_of_code(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and text of public docstrings, and of strings of more than one word."""
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings.add(id(first.value))
                if not getattr(node, "name", "").startswith("_"):
                    yield from enumerate(first.value.value.split("\n"), start=first.value.lineno)
    parts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(id(part) for part in node.values)
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings | parts:
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield node.lineno, text


def prose_of_template(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a template without tags, expressions and comments."""
    plain = re.sub(r"<[^>]*>|\{[{%#].*?[#%}]\}", lambda match: " " + "\n" * match[0].count("\n"), text, flags=re.DOTALL)
    yield from enumerate(plain.split("\n"), start=1)


def prose_of_script(text: str) -> Iterator[tuple[int, str]]:
    """Yield the strings of more than one word in a script of the report."""
    for number, line in enumerate(text.split("\n"), start=1):
        for _, string in re.findall(r"([\"'`])((?:(?!\1).)* (?:(?!\1).)*)\1", line):
            yield number, re.sub(r"\$\{.*?\}", " ", string)


def prose_of_page(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a Markdown page outside code."""
    in_code = False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, re.sub(r"`[^`]*`", " ", line)


def findings() -> Iterator[str]:
    rules = read_rules()
    prose_rules = [rule for rule in rules if rule.kind == "prose"]

    def check_prose(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[str]:
        for number, text in lines:
            for rule in prose_rules:
                if found := rule.pattern.search(text):
                    start = max(0, found.start() - 30)
                    context = text[start : found.end() + 30].strip()
                    yield f"{path.relative_to(ROOT)}:{number}: '{found[0]}' in “{context}”: {rule.advice}"

    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for kind, number, name in [("name", 1, path.stem), *names(tree)]:
            for rule in rules:
                if rule.kind == "variable" or (rule.kind == kind == "name"):
                    banned = [word for word in words(name) if rule.pattern.fullmatch(word)]
                    if banned and "optimality_gap" not in name:
                        yield f"{path.relative_to(ROOT)}:{number}: '{banned[0]}' in the {kind} {name}: {rule.advice}"
        yield from check_prose(path, prose_of_code(tree))
    for path in sorted((PACKAGE / "report" / "templates").iterdir()):
        text = path.read_text(encoding="utf-8")
        if path.suffix in (".html", ".js"):
            yield from check_prose(path, prose_of_template(text) if path.suffix == ".html" else prose_of_script(text))
    for path in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]:
        yield from check_prose(path, prose_of_page(path.read_text(encoding="utf-8")))


def main() -> int:
    found = list(findings())
    print("\n".join(found) if found else "Every name and every text uses the project's words.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
