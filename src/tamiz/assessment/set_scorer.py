"""Fold scores of named models on column sets of one table, by fold backends where they exist."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tamiz.assessment.nested_cv import run_with_progress
from tamiz.assessment.predictors import ForestModel, TreeBasedModel, TreeModel
from tamiz.assessment.selector_adapters import SelectorAdapter
from tamiz.models.evaluator import WrapperEvaluator
from tamiz.models.folds import Folds
from tamiz.models.named_models import resolve_model
from tamiz.models.refits import choose_backend
from tamiz.models.scoring import resolve_scoring
from tamiz.models.task import make_task
from tamiz.runtime import parallel, progress
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.sources.base import Source
from tamiz.sources.encoding import level_indicators
from tamiz.sources.views import as_training_source, select_columns, select_rows, target_array, weight_array
from tamiz.statistics.base import Floats
from tamiz.statistics.cross_products import design_matrix
from tamiz.subsets.candidates import Candidates, Masks

# Models that are scored by fold backends or refits of `tamiz.models`, with their names there, and models of trees.
_BACKEND_MODELS = {"naive_bayes": "naive_bayes", "knn": "knn", "ridge": "ridge", "logistic": "logistic"}
_TREE_MODELS = {"tree": TreeModel(), "forest": ForestModel()}


class SetScorer:
    """Scores column sets of a table on fixed folds, by models of `tamiz.assessment.predictors`.

    Parameters
    ----------
    source : Source
    folds : Folds
    scoring : str
        The name of a scorer of scikit-learn's.
    seed : int
        The random state of trees.
    """

    def __init__(self, source: Source, folds: Folds, scoring: str, seed: int) -> None:
        self._source = source
        self._folds = folds
        self._scoring = scoring
        self._seed = seed

    def fold_scores(self, name: str, sets: Masks, needed: NDArray[np.bool_] | None = None) -> Floats:
        """Return the scores of a model, of shape (n_sets, n_folds).

        Parameters
        ----------
        name : {"naive_bayes", "ridge", "logistic", "knn", "tree", "forest"}
        sets : ndarray of shape (n_sets, n_columns), bool
        needed : ndarray of shape (n_sets, n_folds), bool, default=None
            The scores that are needed, None for all; the others are undefined.
        """
        unique, back = np.unique(sets, axis=0, return_inverse=True)
        back = back.ravel()
        unique_needed = np.zeros((len(unique), len(self._folds)), dtype=bool)
        np.logical_or.at(unique_needed, back, True if needed is None else needed)
        found = (
            self._backend_scores(_BACKEND_MODELS[name], unique)
            if name in _BACKEND_MODELS
            else self._tree_scores(_TREE_MODELS[name], unique, unique_needed)
        )
        return found[back]

    def select_in_folds(self, selector: SelectorAdapter, sets: Masks, seeds: tuple[int, ...]) -> Masks:
        """Return the columns selected from every set in every fold, of shape (n_sets, n_folds, n_columns)."""

        def select(at: int) -> Masks:
            train = as_training_source(select_rows(self._source, self._folds.splits[at].train))
            views = (select_columns(train, np.flatnonzero(mask).tolist()) for mask in sets)
            return np.stack([selector.select(view, seeds[at]).support for view in views])

        n_folds = len(self._folds)
        results = run_with_progress(
            "Selections in folds",
            self._source,
            select,
            range(n_folds),
            lambda at: f"Fold {at + 1} of {n_folds}",
            evaluation_cost=selector.evaluation_cost,
        )
        return np.stack([found for found, _ in results], axis=1)

    def _backend_scores(self, name: str, sets: Masks) -> Floats:
        model = resolve_model(name, self._source.schema, encode=False)
        folds = [(fold.train, fold.test) for fold in self._folds.splits]
        with capture_warnings():
            task = make_task(
                model,
                self._source,
                cv=folds,
                scoring=self._scoring,
                seed=self._seed,
            )
            return WrapperEvaluator(task, *choose_backend(task)).fold_scores(Candidates.from_masks(sets))

    def _tree_scores(self, tree_model: TreeBasedModel, sets: Masks, needed: NDArray[np.bool_]) -> Floats:
        """Return the scores of trees; the empty set scores like the most frequent class or the mean."""
        scores = np.full(needed.shape, np.nan)
        jobs = [(s, f) for f in range(needed.shape[1]) for s in np.flatnonzero(needed[:, f]).tolist()]
        results = progress.track_progress(
            "Trees",
            parallel.map_blocks(lambda at: self._fit_and_score(tree_model, sets[at[0]], at[1]), jobs),
            len(jobs),
        )
        for at, score in zip(jobs, results, strict=True):
            scores[at] = score
        return scores

    def _fit_and_score(self, tree_model: TreeBasedModel, mask: NDArray[np.bool_], fold: int) -> float:
        values, owner, y, weight = self._tree_matrix
        part = self._folds.splits[fold]
        at = np.flatnonzero(mask[owner])
        # A constant column for the empty set: the tree is then its root.
        train, test = (
            values[np.ix_(rows, at)] if len(at) else np.zeros((len(rows), 1), dtype=np.float32)
            for rows in (part.train, part.test)
        )
        model = tree_model.make_estimator(has_classes=self._source.schema.has_classes, seed=self._seed)
        model.fit(train, y[part.train], sample_weight=None if weight is None else weight[part.train])
        return resolve_scoring(self._scoring, has_classes=self._source.schema.has_classes).score(
            model, test, y[part.test], None if weight is None else weight[part.test]
        )

    @cached_property
    def _tree_matrix(self) -> tuple[NDArray[np.float32], NDArray[np.intp], NDArray[np.number], Floats | None]:
        """Numbers and level indicators, the table column of each, the target and the weights."""
        source, schema = self._source, self._source.schema
        levels = level_indicators(schema)
        blocks = source.blocks(schema.used.tolist())
        values = np.concatenate([design_matrix(block, schema.numeric, levels, np.float64) for block in blocks])
        owner = [*schema.numeric, *(one.column for one in levels for _ in range(one.n_levels))]
        # The type of scikit-learn's trees.
        return values.astype(np.float32), np.array(owner, dtype=np.intp), target_array(source), weight_array(source)
