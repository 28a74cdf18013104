"""What selections are worth to models: every section that says so reads the same rows, folds, models and scores."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz.criteria.base import Merit
from tamiz.criteria.cfs import CFS
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.exceptions import DataError
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.search.stopping import Seconds, StoppingRule
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema

if TYPE_CHECKING:
    from tamiz.assessment import Recommendation

# Models are fitted to so many rows at most, fewer where a row has many numbers: distances grow with the square of the rows.
_MAX_ROWS, _MIN_ROWS, _MAX_VALUES = 3_000, 1_000, 1_000_000
# Folds, and those of larger tables, of which fewer say as much.
_FEW_ROWS, _FOLDS, _FEWER_FOLDS = 100, 10, 5
# Seconds that searches of one kind may take: those of folds and shuffled targets, and one search of a usual candidate.
MAX_SEARCH_SECONDS, _MAX_SECONDS_PER_SEARCH = 40.0, 3.0
_MIN_PERMUTATIONS = 19
# Columns are added beside so many numbers of a row at most: fifty beside many hundreds change little.
MAX_NOISE_COORDINATES = 200
# Columns added.
_N_ADDED_COLUMNS = (0, 10, 50)
# `run_noise_experiment` asks for so many.
_MIN_NOISE_ROWS = 20
_REQUEST_HINT = "Ask for it with assess=True (--assess)."


@dataclass(frozen=True)
class ModelEvaluation:
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
    requested : bool
        Whether the user asked for it: then nothing is left out for its time.
    notes : tuple of str
        Which rows.
    budget : Budget
    """

    source: Source
    n_splits: int
    scoring: str | None
    seed: int
    requested: bool
    notes: tuple[str, ...]
    budget: Budget = DEFAULT_BUDGET

    def recommend(
        self, selector: SubsetSelector, search_seconds: float
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return the comparison of a fitted selector with others, and that of its columns with all columns.

        None where that takes long, or fails. The parameters are those of `assess`.
        """
        if not self.requested and (1 + self.n_splits) * search_seconds > self._max_search_seconds:
            warn_user([f"Selections were not compared: {self._search_time_note(search_seconds)}"])
            return None
        # What it needs takes a moment to be imported.
        from tamiz.assessment import recommend_columns

        candidates = self._candidates(selector)
        try:
            with capture_warnings():
                found = recommend_columns(
                    self.source,
                    candidates=candidates,
                    scoring=self._scorings(),
                    n_splits=self.n_splits,
                    keep_all=selector.n_features is None,
                    random_state=self.seed,
                )
        except (DataError, MemoryError) as error:
            self._skip_or_raise("What the subset is worth to models", error)
            return None
        name = next(name for name, one in candidates.items() if one is selector)
        return _with_notes(found, self.notes), model_effect(found, name, (*self.notes, *self._many_columns_note()))

    def assess(self, selector: SubsetSelector, search_seconds: float) -> dict[str, Any] | None:
        """Return how far the score of a fitted selector can be trusted; None where that takes long, or fails.

        Parameters
        ----------
        selector : SubsetSelector
        search_seconds : float
            What its search took with these rows.
        """
        from tamiz.assessment import selection_report
        from tamiz.assessment.permutation_null import default_n_permutations

        n_shuffles = default_n_permutations(self.source)
        if not self.requested:
            n_searches = affordable_searches(n_shuffles, self.n_splits, search_seconds, self._max_search_seconds)
            if n_searches == 0:
                warn_user(
                    [f"The subset was not searched for again inside folds: {self._search_time_note(search_seconds)}"]
                )
                return None
            n_shuffles = n_searches - 1 - self.n_splits
        try:
            with capture_warnings():
                found = selection_report(
                    selector,
                    self.source,
                    scoring=self.scoring,
                    n_splits=self.n_splits,
                    n_permutations=n_shuffles,
                    random_state=self.seed,
                )
        except (DataError, MemoryError) as error:
            self._skip_or_raise("How far the score of the subset can be trusted", error)
            return None
        described = found.to_dict()
        described["notes"] = [*self.notes, *described["notes"]]
        if not n_shuffles:
            described["notes"].append(
                f"The permutation test was left out: {_MIN_PERMUTATIONS} more searches of {search_seconds:.1f} s. {_REQUEST_HINT}"
            )
        return described

    def run_noise_experiment(self, merit: Merit) -> dict[str, Any] | None:
        """Return the scores of models as noise columns and copies are added; None where a row has many numbers, or on failure.

        Parameters
        ----------
        merit : Merit
            What chooses among the columns and those added.
        """
        if self._many_columns_note():
            return None
        from tamiz.assessment import run_noise_experiment

        try:
            with capture_warnings():
                found = run_noise_experiment(
                    self.source,
                    merit=merit,
                    n_added=_N_ADDED_COLUMNS,
                    scoring=self.scoring,
                    n_draws=1,
                    max_rows=max(self.source.schema.n_rows, _MIN_NOISE_ROWS),
                    n_splits=self.n_splits,
                    random_state=self.seed,
                )
        except (DataError, MemoryError) as error:
            self._skip_or_raise("What added columns cost", error, requested=False)
            return None
        described = found.to_dict()
        described["notes"] = [*self.notes, *described["notes"]]
        return described

    def _many_columns_note(self) -> tuple[str, ...]:
        """Return the note that no columns are added, because a row has many numbers; none where they are."""
        n = self.source.schema.n_coordinates
        if self.requested or n <= MAX_NOISE_COORDINATES:
            return ()
        return (
            f"No noise columns and copies were added: a row has {n:,} numbers, more than {MAX_NOISE_COORDINATES}. {_REQUEST_HINT}",
        )

    def _candidates(self, selector: SubsetSelector) -> dict[str, Any]:
        """Return the usual selections, the fitted one in the place of that of its kind, all with its sizes and fixed columns."""
        from tamiz.assessment.recommendation import default_candidates

        search = selector.search_
        found = default_candidates(
            self.source.schema,
            max_seconds=None if self.requested else self.budget.scale * _MAX_SECONDS_PER_SEARCH,
            n_features=selector.n_features,
            column_options={
                name: value for name, value in search.get_params(deep=False).items() if name in _COLUMN_PARAMETERS
            },
        )
        found[_candidate_id(selector)] = selector
        return found

    def search_seconds(self, selector: SubsetSelector) -> float:
        """Return what the search of a fitted selector takes with these rows; where that is long, only that it is."""
        limit: StoppingRule = Seconds(self._max_search_seconds)
        stop = limit if selector.stop is None else selector.stop | limit
        begun = time.perf_counter()
        with capture_warnings(), suppress(DataError, MemoryError, ValueError):
            clone(selector).set_params(journal=None, stop=stop).fit(self.source)
        return time.perf_counter() - begun

    @property
    def _max_search_seconds(self) -> float:
        """Seconds that searches of one kind may take."""
        return self.budget.scale * MAX_SEARCH_SECONDS

    def _search_time_note(self, seconds: float) -> str:
        """Return that searching in every fold takes long, and the way to have it done."""
        return f"{1 + self.n_splits} searches of {seconds:.1f} s take more than {self._max_search_seconds:.0f} s. {_REQUEST_HINT}"

    def _scorings(self) -> list[str] | None:
        if self.scoring is None:
            return None
        beside = ["balanced_accuracy", "accuracy"] if self.source.schema.has_classes else []
        return list(dict.fromkeys([self.scoring, *beside]))

    def _skip_or_raise(self, description: str, error: Exception, *, requested: bool | None = None) -> None:
        if self.requested if requested is None else requested:
            raise error
        warn_user([f"{description} was not computed: {error}"])


# Parameters of a search that say which columns it may choose.
_COLUMN_PARAMETERS = ("start", "fixed", "excluded", "column_groups")
# Wrappers by the model that they score, as the usual candidates are called.
_CANDIDATE_BY_MODEL = {"mixed_nb": "naive_bayes", "ridge": "ridge", "knn": "knn"}


def affordable_searches(n_permutations: int, n_splits: int, seconds: float, max_seconds: float) -> int:
    """Return how often a subset is searched for again within so many seconds: in all rows and each fold, and in shuffled targets.

    Of the shuffled targets so many are left out as need be, and 0 is returned where there is no time for the folds.
    """
    room = min(max_seconds / max(seconds, 1e-3), 1e9) - 1 - n_splits
    if room < 0:
        return 0
    fitting = [n for n in (n_permutations, _MIN_PERMUTATIONS) if n <= room]
    return 1 + n_splits + (fitting[0] if fitting else 0)


def evaluation_size(schema: Schema, budget: Budget) -> tuple[int, int]:
    """Return how many rows models are fitted to at most, and in how many folds."""
    n = schema.n_rows
    most = min(budget.scale_quadratic(_MAX_ROWS, n), budget.scale_linear(_MAX_VALUES / max(schema.n_coordinates, 1), n))
    return min(n, max(_MIN_ROWS, most)), _FOLDS if n <= _FEW_ROWS else _FEWER_FOLDS


def prepare_evaluation(
    source: Source, scoring: str | None, seed: int, *, assess: bool | None, budget: Budget = DEFAULT_BUDGET
) -> ModelEvaluation | None:
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
    from tamiz.models.folds import sample_rows

    most, n_splits = evaluation_size(source.schema, budget)
    rows, notes = sample_rows(source, most, n_splits, make_rng(seed))
    return ModelEvaluation(rows, n_splits, scoring, seed, bool(assess), tuple(notes), budget)


def model_effect(recommendation: Recommendation, candidate: str, notes: tuple[str, ...]) -> dict[str, Any]:
    """Return one selection of a comparison beside all columns, in the form of `ColumnComparison.to_dict`.

    Parameters
    ----------
    recommendation : Recommendation
    candidate : str
        The selection's id.
    notes : tuple of str
        Which rows.
    """
    one, every = recommendation.candidates[candidate], recommendation.candidates["all_columns"]
    return {
        "selector": one.label,
        "folds": recommendation.folds_description,
        "n_samples": recommendation.n_samples,
        "n_columns": recommendation.n_columns,
        "n_chosen": one.fold_sets.sum(axis=1).tolist(),
        "models": [{"id": model, "label": label} for model, label in recommendation.models.items()],
        "scores": [
            {
                "id": scoring,
                "baseline": recommendation.baseline[scoring].to_dict(),
                "models": [
                    {
                        "all_columns": every.scores[model, scoring].to_dict(),
                        "chosen": one.scores[model, scoring].to_dict(),
                        "difference": recommendation.score_change(candidate, model, scoring).to_dict(),
                    }
                    for model in recommendation.models
                ],
            }
            for scoring in recommendation.scorings
        ],
        "notes": [*notes, *recommendation.notes],
        "seed": recommendation.seed,
    }


def _with_notes(recommendation: Recommendation, notes: tuple[str, ...]) -> dict[str, Any]:
    described = recommendation.to_dict()
    described["notes"] = [*notes, *described["notes"]]
    return described


def _candidate_id(selector: SubsetSelector) -> str:
    """Return the id of the usual candidate whose merit a selector has, "subset" where none does."""
    merit = selector.criterion_
    if isinstance(merit, CFS):
        return "cfs"
    if isinstance(merit, CrossValidated) and isinstance(merit.estimator, str):
        return _CANDIDATE_BY_MODEL.get(merit.estimator, "subset")
    return "subset"
