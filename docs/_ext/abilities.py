"""Tables of the inputs that methods accept and of their costs, computed when the site is built.

Each method is fitted on small tables. The directive `{abilities} relevance` inserts the table of a kind of method, with one row
per entry of the registry.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from docutils import nodes
from docutils.statemachine import StringList
from numpydoc.docscrape import ClassDoc
from scipy import sparse
from sphinx.util.docutils import SphinxDirective

from tamiz import RankSelector, SubsetSelector, criteria, reduction, search
from tamiz.graphs import KNearest
from tamiz.runtime.registry import Entry
from tamiz.search import Forward

ROWS = 60
_rng = np.random.default_rng(0)
CLASSES = np.array(["no", "yes"])[np.arange(ROWS) % 2]
NUMBER = _rng.normal(size=ROWS)
NUMBERS = pd.DataFrame(_rng.normal(size=(ROWS, 4)) + (CLASSES == "yes")[:, None], columns=list("abcd"))
MIXED = NUMBERS.assign(e=np.array(["red", "green", "blue"])[_rng.integers(0, 3, ROWS)])
INCOMPLETE = NUMBERS.mask(_rng.random(NUMBERS.shape) < 0.05)
WEIGHTS = 1.0 + np.arange(ROWS) % 2

YES, NO = "yes", ""
REFUSED = (ValueError, TypeError, MemoryError)


def _succeeds(run: Callable[[], Any]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run()
        except REFUSED:
            return False
    return True


def _answer(run: Callable[[], Any]) -> str:
    return YES if _succeeds(run) else NO


def of_criterion(entry: Entry) -> dict[str, str]:
    """Return the inputs that a relevance or a merit accepts; for a wrapper, those that one of two models accepts."""
    made = [entry.load()(model) for model in ("naive_bayes", "ridge")] if entry.kind == "wrapper" else [entry.load()()]
    one_by_one = entry.kind == "relevance"
    selectors = [RankSelector(part) if one_by_one else SubsetSelector(part, Forward()) for part in made]

    def answer(X: Any, *targets: Any, **more: Any) -> str:
        tried = ((selector, y) for selector in selectors for y in targets)
        return YES if any(_succeeds(lambda s=s, y=y: s.fit(X, y, **more)) for s, y in tried) else NO

    return {
        "classes": answer(NUMBERS, CLASSES),
        "numeric target": answer(NUMBERS, NUMBER),
        "no target": answer(NUMBERS, None),
        "categories": answer(MIXED, CLASSES, NUMBER),
        "missing values": answer(INCOMPLETE, CLASSES, NUMBER),
        "weights": answer(NUMBERS, CLASSES, NUMBER, sample_weight=WEIGHTS),
    }


def of_map(entry: Entry) -> dict[str, str]:
    """Return the inputs that a map accepts, by default or with Gower's dissimilarity."""
    cls = entry.load()

    def answer(X: Any) -> str:
        if _succeeds(lambda: cls().fit(X)):
            return YES
        return "with gower" if _succeeds(lambda: cls(dissimilarity="gower").fit(X)) else NO

    distances = np.abs(np.subtract.outer(NUMBER, NUMBER))
    return {
        "categories": answer(MIXED),
        "missing values": answer(INCOMPLETE),
        "sparse rows": answer(sparse.csr_array(NUMBERS.to_numpy())),
        "weights": _answer(lambda: cls().fit(NUMBERS, sample_weight=WEIGHTS)),
        "distances alone": _answer(lambda: cls(**_of_distances(cls)).fit(distances)),
        "new rows": YES if callable(getattr(cls, "transform", None)) else NO,
    }


def _of_distances(cls: Any) -> dict[str, Any]:
    """Return the parameters for a matrix of distances: those of the map, or those of its graph."""
    on_graph = "graph" in signature(cls).parameters
    return {"graph": KNearest(metric="precomputed")} if on_graph else {"dissimilarity": "precomputed"}


KINDS: dict[str, tuple[Any, Callable[[Entry], dict[str, str]]]] = {
    "relevance": (criteria, of_criterion),
    "merit": (criteria, of_criterion),
    "wrapper": (criteria, of_criterion),
    "map": (reduction, of_map),
    "search": (search, lambda _: {}),
}


def cost(entry: Entry) -> str:
    """Return the cost in the notes of a docstring: the first clause that begins with "Cost", or that counts operations."""
    notes = " ".join(" ".join(ClassDoc(entry.load())["Notes"]).split())
    clauses = re.split(r"(?<=[.;:])\s+(?=[A-Za-z])|, where ", notes)
    counting = [clause for clause in clauses if re.search(r"O\(|evaluations?\b", clause)]
    found = next(iter([*(clause for clause in clauses if clause.startswith("Cost ")), *counting]), "")
    raised = str.maketrans({"2": "²", "3": "³", "p": "ᵖ"})
    plain = re.sub(r"\^([23p])", lambda power: power[1].translate(raised), found.replace("`", ""))
    clause = plain.removeprefix("Cost ").rstrip(".;:,")
    clause = f"that {clause}" if clause.startswith("of ") else clause
    return clause if clause.startswith("O(") else clause[:1].lower() + clause[1:]


class Abilities(SphinxDirective):
    """A row for every method of one or more kinds."""

    has_content = False
    required_arguments = 1
    optional_arguments = 5

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = []
        for kind in self.arguments:
            package, ask = KINDS[kind]
            for entry in package.registry.of_kind(kind):
                page = f"/methods/{package.__name__.removeprefix('tamiz.')}/{entry.name}"
                rows.append({"": (entry.attribute, page), **ask(entry), "cost": cost(entry)})
        return [self._table(list(rows[0]), [list(row.values()) for row in rows])]

    def _table(self, head: list[str], rows: list[list[Any]]) -> nodes.table:
        group = nodes.tgroup(cols=len(head))
        group += [nodes.colspec(colwidth=1) for _ in head]
        group += nodes.thead("", self._row([nodes.paragraph("", name) for name in head]))
        group += nodes.tbody("", *(self._row([self._cell(cell) for cell in row]) for row in rows))
        return nodes.table("", group, classes=["abilities"])

    def _cell(self, cell: Any) -> nodes.Node:
        if isinstance(cell, str):
            return nodes.paragraph("", cell)
        parsed = nodes.paragraph()
        name, page = cell
        source = StringList([f"{{doc}}`{name} <{page}>`"], "abilities")
        self.state.nested_parse(source, 0, parsed)
        return parsed.children[0]

    @staticmethod
    def _row(cells: list[nodes.Node]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", cell) for cell in cells))


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("abilities", Abilities)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
