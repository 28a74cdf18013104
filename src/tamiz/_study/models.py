"""Evaluation of the selections of a study by models: all sections use the same rows, folds, models and scores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz.assessment.findings import Stability
from tamiz.assessment.score_report import Recommendation
from tamiz.criteria.base import Merit
from tamiz.criteria.cfs import CFS
from tamiz.criteria.entropies import MissingRule
from tamiz.exceptions import DataError
from tamiz.report.records import ColumnDecision
from tamiz.report.score_text import ScoreFormat, change_text, model_name
from tamiz.report.text import join_names, kinds_argument, kinds_option
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import capture_warnings, list_names, plain_notes
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Search
from tamiz.selection.defaults import resolve_search
from tamiz.selection.permutation_null import default_n_permutations
from tamiz.selection.subset_record import MIN_PERMUTATIONS
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns

if TYPE_CHECKING:
    from tamiz.assessment import NoiseExperiment, Recommendation, SelectionErrorRates, SelectionReport


# Models are few, and none of their scores is cut.
_FULL_WIDTH = 1_000
# A score of a model that is shown as 1.000 or 100 %, and the most columns that a warning of it names.
_PERFECT_SCORE, _MAX_NAMED = 0.9995, 5


def perfect_score_warnings(found: Recommendation) -> list[Verdict]:
    """Return a warning of scores that are shown as 1.000, with the fewest columns that reach one; an empty list without any.

    If only all columns reach it, the columns are those of the smallest sets that the candidates select.
    """
    perfect = [
        (len(one.columns), scoring, model, one.columns)
        for one in found.candidates.values()
        for scoring in found.scorings
        for model in found.models
        if one.scores[model, scoring].mean >= _PERFECT_SCORE
    ]
    sets = [pair for path in found.paths.values() for pair in zip(path.columns, path.scores, strict=True)]
    model, scoring = found.deciding
    perfect += [(len(columns), scoring, model, columns) for columns, score in sets if score.mean >= _PERFECT_SCORE]
    if not perfect:
        return []
    size, scoring, model, columns = min(perfect, key=lambda one: one[0])
    # The columns of the smallest sets first: a search selects the best columns first.
    order = dict.fromkeys(name for of_set, _ in sorted(sets, key=lambda pair: len(pair[0])) for name in of_set)
    names = [*(name for name in order if name in columns), *(name for name in columns if name not in order)]
    named = join_names([repr(name) for name in names[:_MAX_NAMED]])
    which = named if size <= _MAX_NAMED else f"{size:,} columns, of which {named} are the best"
    score, name = ScoreFormat(scoring), model_name(model, found.models[model])
    its = "its values are" if size == 1 else "their values are"
    sentence = (
        f"The {score.name} of {name} is {score.format_score(1.0)} on {which}: check that {its} known before the "
        f"target. If not, exclude the columns, such as {kinds_argument({names[0]: 'id'})} ({kinds_option({names[0]: 'id'})})."
    )
    return [Verdict("TZ102", sentence, names[:_MAX_NAMED])]


def loss_warnings(found: Recommendation) -> list[Verdict]:
    """Return a warning of the models that lose more than the margin on the recommended columns, beyond the error; or none."""
    if found.chance:
        return []
    score = ScoreFormat(found.scorings[0])
    losses = [
        change_text(model_name(model, label), change, score)
        for model, label in found.models.items()
        if (change := found.score_change(found.recommended, model)).interval[1] < 0 and -change.mean > found.margin
    ]
    if not losses:
        return []
    sentence = (
        f"The {score.name} on the recommended columns is lower than on all columns: {join_names(losses, width=_FULL_WIDTH)}, with "
        "95% confidence intervals. For these models keep more columns."
    )
    return [Verdict("TZ303", sentence, found.columns)]


# Poor agreement by Fleiss (1981), as Nogueira, Sechidis and Brown (2018) propose for this measure.
_LOW_STABILITY, _RARE = 0.4, 0.5


def stability_warnings(
    found: Recommendation, stability: Stability, decisions: Sequence[ColumnDecision]
) -> list[Verdict]:
    """Return a warning if the columns that the folds select agree poorly, with the recommended ones that few folds select."""
    if not found.columns or stability.estimate >= _LOW_STABILITY or len(found.columns) == found.n_columns:
        return []
    rare = [one.name for one in decisions if one.kept and one.share < _RARE]
    named = f" Fewer than half of the folds select {list_names(rare, as_text=repr)}." if rare else ""
    sentence = (
        f"Other rows of this table lead to other columns: the stability of the selection is {stability.estimate:.2f} (95% "
        f"interval {stability.low:.2f} to {stability.high:.2f}; 1 for the same columns always, 0 for random sets).{named} The "
        "score includes the choice; the list of columns is uncertain."
    )
    return [Verdict("TZ304", sentence, rare)]


# The most rows that models are fitted to: as many values as 3,000 rows of 20 coordinates, at most 12,000 rows because the cost of
# kNN grows with their square, at least 3,000, and fewer if a row has many coordinates.
_MAX_ROWS, _NARROW_ROWS, _NARROW_VALUES, _MIN_ROWS, _MAX_VALUES = 3_000, 12_000, 60_000, 1_000, 1_000_000
# Up to so many rows there are ten folds; larger tables need fewer for the same precision.
_FEW_ROWS, _FOLDS, _FEWER_FOLDS = 100, 10, 5
# The limit in seconds of all searches in folds and on shuffled targets.
MAX_SEARCH_SECONDS = 40.0
# No noise experiment above so many coordinates of a row: fifty more columns then change little.
MAX_NOISE_COORDINATES = 200
_N_ADDED_COLUMNS = (0, 10, 50)
# Work of conditional importance, about a nanosecond each.
MAX_IMPORTANCE_WORK = 4e9
# `run_noise_experiment` requires so many.
_MIN_NOISE_ROWS = 20
_REQUEST_HINT = "Ask for it with assess=True (--assess)."


@dataclass(frozen=True)
class ModelEvaluation:
    """The rows (all, or a random sample), folds and score of one study; if it is `requested`, nothing is skipped."""

    table: Table
    n_splits: int
    scoring: str | None
    seed: int
    requested: bool
    notes: tuple[str, ...]
    max_rows: int
    missing: MissingRule = "distribute"
    budget: Budget = DEFAULT_BUDGET

    def recommend(self, selector: SubsetSelector, *, searched: bool, left_out: Collection[int] = ()) -> Recommendation:
        """Return the comparison of the default candidates, and of a fitted selector that was asked for (`searched`).

        The default candidates do not search `left_out`, columns to which others are equivalent.
        """
        if searched and not self._count_searches(selector, 0):
            raise DataError(self._search_time_note(selector))
        # Imported late: it loads scikit-learn's models.
        from tamiz.assessment import recommend_columns
        from tamiz.assessment.recommendation import default_candidates

        defaults = default_candidates(
            self.table.schema,
            self.missing,
            n_features=selector.n_features,
            column_options=column_options(resolve_search(selector.search)),
            left_out=left_out,
        )
        asked: dict[str, Any] = {}
        if searched:
            asked["cfs" if isinstance(selector.criterion_, CFS) else "subset"] = selector
        with capture_warnings():
            return recommend_columns(
                self.table,
                candidates=asked | defaults,
                scoring=self._scorings(),
                n_splits=self.n_splits,
                keep_all=selector.n_features is None,
                recommend=next(iter(asked), None),
                random_state=self.seed,
            )

    def score_with_leaks(self, with_leaks: Table, found: Recommendation) -> dict[str, Any]:
        """Return fields of a `LeakageExclusion`: the scores on all columns with the leaks and without."""
        from tamiz.assessment.trials import Trial, ignore_known_warnings, resolve_scorings
        from tamiz.models.folds import draw_folds, drop_zero_weights, sample_rows
        from tamiz.models.named_models import resolve_models

        rows, _ = sample_rows(with_leaks, self.max_rows, self.n_splits, make_rng(self.seed))
        rows, _ = drop_zero_weights(rows)
        with capture_warnings(), ignore_known_warnings():
            # The folds of the table without the leaks, in which other rows may be equal.
            folds = draw_folds(drop_zero_weights(self.table)[0], self.n_splits, make_rng(self.seed))
            models, _ = resolve_models([found.deciding_model], rows.schema)
            scorings, _ = resolve_scorings(found.scorings[:1], rows, folds, models.values())
            every = np.ones((1, rows.schema.n_columns), dtype=bool)
            values, _ = Trial(rows, folds, models, scorings, self.seed % 2**31).score(every)
        return {
            "model": found.models[found.deciding_model],
            "scoring": found.scorings[0],
            "with_leaks": float(values.mean()),
            "without_leaks": found.all_columns.scores[found.deciding].mean,
        }

    def added_p_values(self, columns: Sequence[int], model: str) -> dict[int, float]:
        """Return the adjusted p-value of what each column adds to the others in a model; empty if that takes too long or fails."""
        from tamiz.assessment.column_importance import conditional_importance, importance_work

        if len(columns) < 2 or importance_work(self.table, columns) > self.budget.scale * MAX_IMPORTANCE_WORK:
            return {}
        try:
            with capture_warnings():
                rows = select_columns(self.table, columns)
                found = conditional_importance(rows, model=model, n_splits=self.n_splits, random_state=self.seed)
        except (DataError, MemoryError):
            return {}
        numbers = {name: j for j, name in enumerate(self.table.schema.names)}
        return {numbers[name]: float(p) for name, p in zip(found.names, found.adjusted_p_value, strict=True)}

    def comparison_options(self, n_rows: int) -> dict[str, Any]:
        """Return the arguments of `recommend_columns` that repeat the comparison on a table of `n_rows` rows."""
        scorings = self._scorings()
        options: dict[str, Any] = {} if scorings is None else {"scoring": scorings}
        options["n_splits"] = self.n_splits
        if self.max_rows < n_rows:
            options["max_rows"] = self.max_rows
        return options | {"random_state": self.seed}

    def assess(self, selector: SubsetSelector) -> SelectionReport:
        """Return the assessment of a fitted selector (`selection_report`)."""
        from tamiz.assessment import selection_report

        n_shuffles = self._count_searches(selector, default_n_permutations(self.table.schema)) - 1 - self.n_splits
        if n_shuffles < 0:
            raise DataError(self._search_time_note(selector))
        with capture_warnings():
            found = selection_report(
                selector,
                self.table,
                scoring=self.scoring,
                n_splits=self.n_splits,
                n_permutations=n_shuffles,
                random_state=self.seed,
            )
        notes = [*self.notes, *found.notes]
        if not n_shuffles:
            notes.append(
                f"The permutation test was left out: {MIN_PERMUTATIONS} more searches of about "
                f"{self.search_seconds(selector):.1f} s. {_REQUEST_HINT}"
            )
        return replace(found, notes=plain_notes(notes))

    def estimate_error_rates(
        self, selected: SubsetSelector | Recommendation | None, n_draws: int
    ) -> SelectionErrorRates:
        """Return the error rates on semi-synthetic targets; a recommendation is represented by its search for as many columns."""
        from tamiz.assessment import selection_error_rates
        from tamiz.assessment.recommendation import default_candidates
        from tamiz.assessment.trials import PathAdapter

        if selected is None:
            raise DataError("It needs the reliability of the selection.")
        selector: Any = selected
        if not isinstance(selected, SubsetSelector):
            path = default_candidates(self.table.schema, self.missing).get(selected.recommended)
            if not isinstance(path, PathAdapter):
                raise DataError("No column is dropped by a search.")
            selector = path.of_size(len(selected.columns))
        with capture_warnings():
            found = selection_error_rates(selector, self.table, n_draws=n_draws, random_state=self.seed)
        return replace(found, notes=plain_notes(found.notes))

    def run_noise_experiment(self, merit: Merit) -> NoiseExperiment:
        """Return the scores of models as noise columns and copies are added; an error if a row has many coordinates.

        Gradient boosting is left out: it takes as long as all others together, and behaves as the forest does.
        """
        if (n := self.table.schema.n_coordinates) > MAX_NOISE_COORDINATES and not self.requested:
            raise DataError(f"A row has {n:,} coordinates, more than {MAX_NOISE_COORDINATES}. {_REQUEST_HINT}")
        from tamiz.assessment import run_noise_experiment
        from tamiz.models.named_models import resolve_models

        with capture_warnings():
            found = run_noise_experiment(
                self.table,
                merit=merit,
                models=[name for name in resolve_models(None, self.table.schema)[0] if name != "gradient_boosting"],
                n_added=_N_ADDED_COLUMNS,
                scoring=self.scoring,
                n_draws=1,
                max_rows=max(self.table.schema.n_rows, _MIN_NOISE_ROWS),
                n_splits=self.n_splits,
                random_state=self.seed,
            )
        return replace(found, notes=plain_notes([*self.notes, *found.notes]))

    def search_seconds(self, selector: SubsetSelector) -> float:
        """Return the seconds of the search of a fitted selector on these rows, from the number of sets that it evaluated."""
        share = self.table.schema.n_rows / max(selector.schema_.n_rows, 1)
        return 1e-6 * selector.n_evaluations_ * selector.merit_cost_ * min(share, 1.0)

    def _count_searches(self, selector: SubsetSelector, n_permutations: int) -> int:
        """Return the number of searches on all rows, in folds and on shuffled targets; 0 if those in folds take too long."""
        if self.requested:
            return 1 + self.n_splits + n_permutations
        return affordable_searches(
            n_permutations, self.n_splits, self.search_seconds(selector), self.budget.scale * MAX_SEARCH_SECONDS
        )

    def _search_time_note(self, selector: SubsetSelector) -> str:
        """Return the reason why the searches in folds were skipped, and the option that forces them."""
        return (
            f"{1 + self.n_splits} searches of about {self.search_seconds(selector):.1f} s take more than "
            f"{self.budget.scale * MAX_SEARCH_SECONDS:.0f} s. {_REQUEST_HINT}"
        )

    def _scorings(self) -> list[str] | None:
        if self.scoring is None:
            return None
        beside = ["balanced_accuracy", "accuracy"] if self.table.schema.has_classes else []
        return list(dict.fromkeys([self.scoring, *beside]))


# Parameters of a search that restrict the columns that it may select.
_COLUMN_PARAMETERS = ("start", "fixed", "excluded", "column_groups")


def column_options(search: Search | None) -> dict[str, Any]:
    if search is None:
        return {}
    return {name: value for name, value in search.get_params(deep=False).items() if name in _COLUMN_PARAMETERS}


def affordable_searches(n_permutations: int, n_splits: int, seconds: float, max_seconds: float) -> int:
    """Return how many searches fit `max_seconds`: on all rows, in each fold, and on shuffled targets (99, 19 or 0)."""
    room = min(max_seconds / max(seconds, 1e-3), 1e9) - 1 - n_splits
    if room < 0:
        return 0
    fitting = [n for n in (n_permutations, MIN_PERMUTATIONS) if n <= room]
    return 1 + n_splits + (fitting[0] if fitting else 0)


def evaluation_size(schema: Schema, budget: Budget) -> tuple[int, int]:
    """Return the number of rows that models are evaluated on, and the number of folds."""
    n = schema.n_rows
    n_seen = max(schema.n_coordinates, 1)
    rows = max(_MAX_ROWS, min(_NARROW_ROWS, _NARROW_VALUES // n_seen))
    most = min(budget.scale_quadratic(rows, n), budget.scale_linear(_MAX_VALUES / n_seen, n))
    return min(n, max(_MIN_ROWS, most)), _FOLDS if n <= _FEW_ROWS else _FEWER_FOLDS


def prepare_evaluation(
    table: Table,
    scoring: str | None,
    seed: int,
    *,
    assess: bool | None,
    missing: MissingRule = "distribute",
    budget: Budget = DEFAULT_BUDGET,
) -> ModelEvaluation | None:
    """Return the evaluation of the selections of a study; None if `assess` is False or there is no target."""
    if assess is False or table.schema.target is None:
        return None
    from tamiz.models.folds import sample_rows

    most, n_splits = evaluation_size(table.schema, budget)
    rows, notes = sample_rows(table, most, n_splits, make_rng(seed))
    return ModelEvaluation(rows, n_splits, scoring, seed, bool(assess), tuple(notes), most, missing, budget)
