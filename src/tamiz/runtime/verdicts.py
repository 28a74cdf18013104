"""Verdicts: the sentences of warnings, each with a code that is stable, explained in a file and can be muted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from tamiz.runtime.registry import suggestion

Severity: TypeAlias = Literal["problem", "to check", "note"]
SEVERITIES: tuple[Severity, ...] = ("problem", "to check", "note")


class Code(NamedTuple):
    """The label and the severity of a code."""

    label: str
    severity: Severity


# 1 the target, 2 the table, 3 selections, 4 maps and graphs, 5 computations.
CODES = {
    "TZ101": Code("possible leak", "problem"),
    "TZ102": Code("perfect score", "to check"),
    "TZ103": Code("kind of the target", "to check"),
    "TZ104": Code("changed association", "to check"),
    "TZ201": Code("rows of one unit", "to check"),
    "TZ202": Code("design of the folds", "to check"),
    "TZ203": Code("unused columns", "note"),
    "TZ204": Code("order of rows", "to check"),
    "TZ205": Code("ambiguous values", "to check"),
    "TZ206": Code("rows left out", "note"),
    "TZ207": Code("missing values", "note"),
    "TZ208": Code("weights", "to check"),
    "TZ209": Code("distance matrix", "to check"),
    "TZ210": Code("no variation", "to check"),
    "TZ211": Code("unit or scale", "to check"),
    "TZ212": Code("drift", "to check"),
    "TZ213": Code("other columns", "to check"),
    "TZ214": Code("new levels", "to check"),
    "TZ215": Code("rows outside", "to check"),
    "TZ216": Code("repeated rows", "to check"),
    "TZ217": Code("heavy tails", "to check"),
    "TZ218": Code("values as written", "note"),
    "TZ301": Code("redundant columns", "note"),
    "TZ302": Code("may be chance", "problem"),
    "TZ303": Code("loss by selection", "to check"),
    "TZ304": Code("unstable selection", "to check"),
    "TZ305": Code("nothing selected", "to check"),
    "TZ306": Code("ties", "note"),
    "TZ307": Code("few rows", "to check"),
    "TZ308": Code("lower score on new rows", "problem"),
    "TZ401": Code("separate components", "to check"),
    "TZ402": Code("poor map", "to check"),
    "TZ403": Code("undetermined coordinates", "to check"),
    "TZ404": Code("approximate neighbours", "to check"),
    "TZ501": Code("not converged", "to check"),
    "TZ502": Code("sampled rows", "note"),
    "TZ503": Code("part left out", "note"),
    "TZ504": Code("inexact numbers", "to check"),
    "TZ505": Code("changed setting", "note"),
    "TZ506": Code("warning of a model", "to check"),
}


class Verdict(str):
    """The sentence of a warning, with its code and the columns that it concerns.

    Parameters
    ----------
    code : str
        One of `CODES`.
    sentence : str
    columns : iterable of str, default=()
    """

    code: str
    columns: tuple[str, ...]

    def __new__(cls, code: str, sentence: str, columns: Iterable[Any] = ()) -> Self:
        assert code in CODES
        verdict = super().__new__(cls, sentence)
        verdict.code, verdict.columns = code, tuple(map(str, columns))
        return verdict

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return the arguments of the constructor, for pickle."""
        return self.code, str(self), self.columns

    @property
    def severity(self) -> Severity:
        return CODES[self.code].severity

    @property
    def rank(self) -> int:
        """0 for a problem, the largest number for a note."""
        return SEVERITIES.index(self.severity)

    @property
    def label(self) -> str:
        """What all verdicts of this code have in common, in a few words."""
        return CODES[self.code].label

    def with_sentence(self, sentence: str) -> Verdict:
        return Verdict(self.code, sentence, self.columns)

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "columns": list(self.columns),
            "sentence": str(self),
        }


def check_codes(codes: str | Iterable[str]) -> frozenset[str]:
    """Return codes in capitals; ValueError for one that does not exist."""
    if not isinstance(codes, Iterable):
        raise TypeError(f"mute must be a code such as 'TZ204', or a list of codes, got {codes!r}.")
    given = [codes] if isinstance(codes, str) else list(codes)
    found = [str(code).strip().upper() for code in given]
    for code, wanted in zip(found, given, strict=True):
        if code not in CODES:
            known = "`tamiz explain` lists all"
            raise ValueError(f"There is no code {wanted!r}{suggestion(code, CODES)}; {known}.")
    return frozenset(found)


def explain_code(code: str) -> str:
    """Return what a code means: how it is found, why it matters, what to do, and how often it is wrong."""
    (code,) = check_codes(code)
    text = (files("tamiz") / "verdicts.md").read_text(encoding="utf-8")
    return next(part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part.startswith(code)).strip()
