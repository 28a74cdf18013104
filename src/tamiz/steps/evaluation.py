"""What selections are worth to models: every section that says so reads the same rows, folds, models and scores."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from tamiz.criteria.base import Merit
from tamiz.criteria.cfs import CFS
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.exceptions import DataError
from tamiz.random import generator
from tamiz.search.stopping import Seconds, Stopping
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.steps.budget import USUAL, Budget
from tamiz.warn import held, tell

if TYPE_CHECKING:
    from tamiz.assessment import Recommendation

# Models are fitted to so many rows at most, fewer where a row has many numbers: distances grow with the square of the rows.
_MOST_ROWS, _FEWEST_ROWS, _MOST_VALUES = 3_000, 1_000, 1_000_000
# Folds, and those of larger tables, of which fewer say as much.
_FEW_ROWS, _FOLDS, _FEWER_FOLDS = 100, 10, 5
# Seconds that searches of one kind may take: those of folds and shuffled targets, and one search of a usual candidate.
MOST_SEARCH_SECONDS, _MOST_SECONDS_A_SEARCH = 40.0, 3.0
_FEWEST_SHUFFLES = 19
# Columns are added beside so many numbers of a row at most: fifty beside many hundreds change little.
MOST_BESIDE = 200
# Columns added.
_ADDED = (0, 10, 50)
# `added_columns` asks for so many.
_FEWEST_ADDED_TO = 20
_WAY = "Ask for it with assess=True (--assess)."


@dataclass(frozen=True)
class Evaluation:
    """How the selections of one study are evaluated.

    Attributes
    ----------
    source : Source
        The rows: all, or a random sample.
    n_splits : int
    scoring : str or None
        The score that decides; None is the usual one.
    seed : int
        Draws folds, and seeds searches and models.
    asked : bool
        Whether the user asked for it: then nothing is left out for its time.
    notes : tuple of str
        Which rows.
    budget : Budget
    """

    source: Source
    n_splits: int
    scoring: str | None
    seed: int
    asked: bool
    notes: tuple[str, ...]
    budget: Budget = USUAL

    def recommend(
        self, selector: SubsetSelector, search_seconds: float
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return the comparison of a fitted selector with others, and that of its columns with all columns.

        None where that takes long, or fails. The parameters are those of `report`.
        """
        if not self.asked and (1 + self.n_splits) * search_seconds > self._most_seconds:
            tell([f"Selections were not compared: {self._searches(search_seconds)}"])
            return None
        # What it needs takes a moment to be imported.
        from tamiz.assessment import recommend_columns

        candidates = self._candidates(selector)
        try:
            with held():
                found = recommend_columns(
                    self.source,
                    candidates=candidates,
                    scoring=self._scorings(),
                    n_splits=self.n_splits,
                    keep_all=selector.n_features is None,
                    random_state=self.seed,
                )
        except (DataError, MemoryError) as error:
            self._leave_out("What the subset is worth to models", error)
            return None
        name = next(name for name, one in candidates.items() if one is selector)
        return _described(found, self.notes), compared(found, name, (*self.notes, *self._beside_many()))

    def report(self, selector: SubsetSelector, search_seconds: float) -> dict[str, Any] | None:
        """Return how far the score of a fitted selector can be trusted; None where that takes long, or fails.

        Parameters
        ----------
        selector : SubsetSelector
        search_seconds : float
            What its search took with these rows.
        """
        from tamiz.assessment import selection_report
        from tamiz.assessment.null import usual_number

        n_shuffles = usual_number(self.source)
        if not self.asked:
            n_searches = affordable_searches(n_shuffles, self.n_splits, search_seconds, self._most_seconds)
            if n_searches == 0:
                tell([f"The subset was not searched for again inside folds: {self._searches(search_seconds)}"])
                return None
            n_shuffles = n_searches - 1 - self.n_splits
        try:
            with held():
                found = selection_report(
                    selector,
                    self.source,
                    scoring=self.scoring,
                    n_splits=self.n_splits,
                    n_permutations=n_shuffles,
                    random_state=self.seed,
                )
        except (DataError, MemoryError) as error:
            self._leave_out("How far the score of the subset can be trusted", error)
            return None
        described = found.to_dict()
        described["notes"] = [*self.notes, *described["notes"]]
        if not n_shuffles:
            described["notes"].append(
                f"The permutation test was left out: {_FEWEST_SHUFFLES} more searches of {search_seconds:.1f} s. {_WAY}"
            )
        return described

    def add_columns(self, merit: Merit) -> dict[str, Any] | None:
        """Return the scores of models as noise columns and copies are added; None where a row has many numbers, or on failure.

        Parameters
        ----------
        merit : Merit
            What chooses among the columns and those added.
        """
        if self._beside_many():
            return None
        from tamiz.assessment import added_columns

        try:
            with held():
                found = added_columns(
                    self.source,
                    merit=merit,
                    numbers=_ADDED,
                    scoring=self.scoring,
                    n_draws=1,
                    max_rows=max(self.source.schema.n_rows, _FEWEST_ADDED_TO),
                    n_splits=self.n_splits,
                    random_state=self.seed,
                )
        except (DataError, MemoryError) as error:
            self._leave_out("What added columns cost", error, asked=False)
            return None
        described = found.to_dict()
        described["notes"] = [*self.notes, *described["notes"]]
        return described

    def _beside_many(self) -> tuple[str, ...]:
        """Return the note that no columns are added, because a row has many numbers; none where they are."""
        n = self.source.schema.n_coordinates
        if self.asked or n <= MOST_BESIDE:
            return ()
        return (f"No noise columns and copies were added: a row has {n:,} numbers, more than {MOST_BESIDE}. {_WAY}",)

    def _candidates(self, selector: SubsetSelector) -> dict[str, Any]:
        """Return the usual selections, the fitted one in the place of that of its kind, all with its sizes and fixed columns."""
        from tamiz.assessment.recommendation import usual_candidates

        search = selector.search_
        found = usual_candidates(
            self.source.schema,
            max_seconds=None if self.asked else self.budget.scale * _MOST_SECONDS_A_SEARCH,
            n_features=selector.n_features,
            columns={name: value for name, value in search.get_params(deep=False).items() if name in _OF_COLUMNS},
        )
        found[_kind_of(selector)] = selector
        return found

    def search_seconds(self, selector: SubsetSelector) -> float:
        """Return what the search of a fitted selector takes with these rows; where that is long, only that it is."""
        limit: Stopping = Seconds(self._most_seconds)
        stop = limit if selector.stop is None else selector.stop | limit
        begun = time.perf_counter()
        with held(), suppress(DataError, MemoryError, ValueError):
            clone(selector).set_params(journal=None, stop=stop).fit(self.source)
        return time.perf_counter() - begun

    @property
    def _most_seconds(self) -> float:
        """Seconds that searches of one kind may take."""
        return self.budget.scale * MOST_SEARCH_SECONDS

    def _searches(self, seconds: float) -> str:
        """Return that searching in every fold takes long, and the way to have it done."""
        return f"{1 + self.n_splits} searches of {seconds:.1f} s take more than {self._most_seconds:.0f} s. {_WAY}"

    def _scorings(self) -> list[str] | None:
        if self.scoring is None:
            return None
        beside = ["balanced_accuracy", "accuracy"] if self.source.schema.has_classes else []
        return list(dict.fromkeys([self.scoring, *beside]))

    def _leave_out(self, what: str, error: Exception, *, asked: bool | None = None) -> None:
        if self.asked if asked is None else asked:
            raise error
        tell([f"{what} was not computed: {error}"])


# Parameters of a search that say which columns it may choose.
_OF_COLUMNS = ("start", "fixed", "excluded", "groups")
# Wrappers by the model that they score, as the usual candidates are called.
_WRAPPERS = {"mixed_nb": "naive_bayes", "ridge": "ridge", "knn": "knn"}


def affordable_searches(n_shuffles: int, n_splits: int, seconds: float, most: float) -> int:
    """Return how often a subset is searched for again within so many seconds: in all rows and each fold, and in shuffled targets.

    Of the shuffled targets so many are left out as need be, and 0 is returned where there is no time for the folds.
    """
    room = min(most / max(seconds, 1e-3), 1e9) - 1 - n_splits
    if room < 0:
        return 0
    fitting = [n for n in (n_shuffles, _FEWEST_SHUFFLES) if n <= room]
    return 1 + n_splits + (fitting[0] if fitting else 0)


def evaluated_rows(schema: Schema, budget: Budget) -> tuple[int, int]:
    """Return how many rows models are fitted to at most, and in how many folds."""
    n = schema.n_rows
    most = min(budget.side(_MOST_ROWS, n), budget.of(_MOST_VALUES / max(schema.n_coordinates, 1), n))
    return min(n, max(_FEWEST_ROWS, most)), _FOLDS if n <= _FEW_ROWS else _FEWER_FOLDS


def prepare_evaluation(
    source: Source, scoring: str | None, seed: int, *, assess: bool | None, budget: Budget = USUAL
) -> Evaluation | None:
    """Return how the selections of a study are evaluated; None where nobody wants it, or there is no target.

    Parameters
    ----------
    source : Source
    scoring : str or None
    seed : int
    assess : bool or None
        Whether it was asked for; None leaves out what takes long.
    budget : Budget
    """
    if assess is False or source.schema.target is None:
        return None
    from tamiz.assessment.splits import sampled_rows

    most, n_splits = evaluated_rows(source.schema, budget)
    rows, notes = sampled_rows(source, most, n_splits, generator(seed))
    return Evaluation(rows, n_splits, scoring, seed, bool(assess), tuple(notes), budget)


def compared(found: Recommendation, name: str, notes: tuple[str, ...]) -> dict[str, Any]:
    """Return one selection of a comparison beside all columns, in the form of `ColumnComparison.to_dict`.

    Parameters
    ----------
    found : Recommendation
    name : str
        The selection's id.
    notes : tuple of str
        Which rows.
    """
    one, every = found.candidates[name], found.candidates["all_columns"]
    return {
        "selector": one.label,
        "folds": found.folds,
        "n_samples": found.n_samples,
        "n_columns": found.n_columns,
        "n_chosen": one.sets.sum(axis=1).tolist(),
        "models": [{"id": model, "label": label} for model, label in found.predictors.items()],
        "scores": [
            {
                "id": scoring,
                "baseline": found.baseline[scoring].to_dict(),
                "models": [
                    {
                        "all_columns": every.scores[model, scoring].to_dict(),
                        "chosen": one.scores[model, scoring].to_dict(),
                        "difference": found.change(name, model, scoring).to_dict(),
                    }
                    for model in found.predictors
                ],
            }
            for scoring in found.scorings
        ],
        "notes": [*notes, *found.notes],
        "seed": found.seed,
    }


def _described(found: Recommendation, notes: tuple[str, ...]) -> dict[str, Any]:
    described = found.to_dict()
    described["notes"] = [*notes, *described["notes"]]
    return described


def _kind_of(selector: SubsetSelector) -> str:
    """Return the id of the usual candidate whose merit a selector has, "subset" where none does."""
    merit = selector.criterion_
    if isinstance(merit, CFS):
        return "cfs"
    if isinstance(merit, CrossValidated) and isinstance(merit.estimator, str):
        return _WRAPPERS.get(merit.estimator, "subset")
    return "subset"
