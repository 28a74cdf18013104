"""Models on sets of columns of one table, fold by fold, without a refit where their scores are sums."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.assessment.nested import in_turn
from tamiz.assessment.predictors import Forest, OfLevels, Tree
from tamiz.assessment.selectors import Chooser
from tamiz.candidates import Candidates, Masks
from tamiz.sources.base import Source
from tamiz.sources.encoding import indicators
from tamiz.sources.views import columns_of, learnable, rows_of, target_of, weight_of
from tamiz.statistics.base import Floats
from tamiz.statistics.cross_products import expand
from tamiz.warn import held
from tamiz.wrappers.choice import way_of
from tamiz.wrappers.evaluator import WrapperEvaluator
from tamiz.wrappers.folds import Folds
from tamiz.wrappers.models import model_of
from tamiz.wrappers.scoring import read_scoring
from tamiz.wrappers.task import make_task

# Models by their names among the wrappers' models, most of which score many sets without a refit; and those of trees.
_SUMMED = {"naive_bayes": "mixed_nb", "knn": "knn", "ridge": "ridge", "logistic": "logistic"}
_GROWN = {"tree": Tree(), "forest": Forest()}


class Trial:
    """A table and its folds; models by the names that predictors have.

    Parameters
    ----------
    source : Source
    folds : Folds
    scoring : str
        The name of a scorer of scikit-learn's.
    seed : int
        What trees are given.
    """

    def __init__(self, source: Source, folds: Folds, scoring: str, seed: int) -> None:
        self._source = source
        self._folds = folds
        self._scoring = scoring
        self._seed = seed

    def scores(self, name: str, sets: Masks, wanted: NDArray[np.bool_] | None = None) -> Floats:
        """Return the scores of a model, of shape (n_sets, n_folds).

        Parameters
        ----------
        name : {"naive_bayes", "ridge", "logistic", "knn", "tree", "forest"}
        sets : ndarray of shape (n_sets, n_columns), bool
        wanted : ndarray of shape (n_sets, n_folds), bool, default=None
            Those that are needed, None for all; the others may be anything.
        """
        unique, back = np.unique(sets, axis=0, return_inverse=True)
        back = back.ravel()
        asked = np.zeros((len(unique), len(self._folds)), dtype=bool)
        np.logical_or.at(asked, back, True if wanted is None else wanted)
        found = self._summed(_SUMMED[name], unique) if name in _SUMMED else self._grown(_GROWN[name], unique, asked)
        return found[back]

    def choices(self, chooser: Chooser, sets: Masks, seeds: tuple[int, ...]) -> Masks:
        """Return what is chosen from every set in every fold, of shape (n_sets, n_folds, n_columns)."""

        def fold(at: int) -> Masks:
            train = learnable(rows_of(self._source, self._folds.parts[at].train))
            taken = (columns_of(train, np.flatnonzero(mask).tolist()) for mask in sets)
            return np.stack([chooser.choose(view, seeds[at]).support for view in taken])

        number = len(self._folds)
        name = "Columns chosen again"
        done = in_turn(
            name, self._source, fold, range(number), lambda at: f"Fold {at + 1} of {number}", effort=chooser.effort
        )
        return np.stack([found for found, _ in done], axis=1)

    def _summed(self, name: str, sets: Masks) -> Floats:
        model = model_of(name, self._source.schema, encode=False)
        folds = [(fold.train, fold.test) for fold in self._folds.parts]
        with held():
            task = make_task(
                model,
                self._source,
                cv=folds,
                scoring=self._scoring,
                seed=self._seed,
            )
            return WrapperEvaluator(task, *way_of(task)).fold_scores(Candidates.of(sets))

    def _grown(self, kind: OfLevels, sets: Masks, wanted: NDArray[np.bool_]) -> Floats:
        """Return the scores of trees; of no column that of the commonest class or the mean."""
        scores = np.full(wanted.shape, np.nan)
        where = [(s, f) for f in range(wanted.shape[1]) for s in np.flatnonzero(wanted[:, f]).tolist()]
        done = progress.track(
            "Trees", parallel.map_blocks(lambda at: self._fitted_score(kind, sets[at[0]], at[1]), where), len(where)
        )
        for at, score in zip(where, done, strict=True):
            scores[at] = score
        return scores

    def _fitted_score(self, kind: OfLevels, mask: NDArray[np.bool_], fold: int) -> float:
        values, owner, y, weight = self._table
        part = self._folds.parts[fold]
        at = np.flatnonzero(mask[owner])
        # Without a column, a constant one: a tree is then its root.
        train, test = (
            values[np.ix_(rows, at)] if len(at) else np.zeros((len(rows), 1), dtype=np.float32)
            for rows in (part.train, part.test)
        )
        model = kind.model(has_classes=self._source.schema.has_classes, seed=self._seed)
        model.fit(train, y[part.train], sample_weight=None if weight is None else weight[part.train])
        return read_scoring(self._scoring, classes=self._source.schema.has_classes).value(
            model, test, y[part.test], None if weight is None else weight[part.test]
        )

    @cached_property
    def _table(self) -> tuple[NDArray[np.float32], NDArray[np.intp], NDArray[np.number], Floats | None]:
        """The numbers and an indicator for every level, the column of each, the target and the weights."""
        source, schema = self._source, self._source.schema
        levels = indicators(schema)
        blocks = source.blocks(schema.used.tolist())
        values = np.concatenate([expand(block, schema.numeric, levels, np.float64) for block in blocks])
        owner = [*schema.numeric, *(one.column for one in levels for _ in range(one.n_levels))]
        # As scikit-learn's trees take them.
        return values.astype(np.float32), np.array(owner, dtype=np.intp), target_of(source), weight_of(source)
