"""Which way an estimator takes."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import clone

from tamiz.wrappers.base import CVTask, FoldBackend
from tamiz.wrappers.estimators import fit_weighted
from tamiz.wrappers.likelihoods import likelihood_scorer
from tamiz.wrappers.measures import confusion_scorer, squared_error_scorer
from tamiz.wrappers.refits import RefitBackend

# So many rows show whether an estimator can be fitted.
_PROBE_ROWS = 50


def choose_backend(task: CVTask) -> tuple[FoldBackend, str]:
    """Return the way, and in words what is done and why."""
    # Here and not above: the package that lists the ways is imported by their modules.
    from tamiz.wrappers import registry

    entry = next((entry for entry in registry.of_kind("backend") if entry.name == task.estimator_name), None)
    if entry is None:
        return RefitBackend(task), f"{task.estimator_name} is refitted for every set and fold: it has no fast way."
    if task.is_multioutput:
        return RefitBackend(
            task
        ), f"{task.estimator_name} is refitted for every set and fold: several targets are predicted at once."
    kind: type[FoldBackend] = entry.load()
    if kind.estimator_class is not type(task.estimator):
        return RefitBackend(
            task
        ), f"{task.estimator_name} is refitted for every set and fold: it is no {entry.name} of scikit-learn's."
    if not task.scoring.uses_predictions_only:
        return RefitBackend(
            task
        ), f"{task.estimator_name} is refitted for every set and fold: {task.scoring.name} may read anything."
    if (why := kind.unsupported_reason(task)) is not None:
        return RefitBackend(task), f"{task.estimator_name} is refitted for every set and fold: {why}."
    if not _can_be_fitted(task):
        # The refit says what is wrong.
        return RefitBackend(
            task
        ), f"{task.estimator_name} is refitted for every set and fold: its parameters do not fit the table."
    if not (confusion_scorer(task) or squared_error_scorer(task) or (kind.has_likelihoods and likelihood_scorer(task))):
        name = task.scoring.name.replace("_", " ")
        return kind(task), f"{task.estimator_name} is asked anew for every set and fold: its {name} is no sum."
    return kind(task), f"{task.estimator_name} is not refitted: {kind.method}."


def _can_be_fitted(task: CVTask) -> bool:
    """Return whether the estimator takes its parameters, and the classes of every fold: those it has by default go anywhere."""
    given, usual = (one.get_params(deep=False) for one in (task.estimator, type(task.estimator)()))
    if all(repr(value) == repr(usual[name]) for name, value in given.items() if name != "random_state"):
        return True
    # A column of no meaning: what the table holds is for the ways to judge.
    column = np.random.default_rng(0).integers(0, 2, (len(task.target), 1)).astype(np.float64)
    seen: set[bytes] = set()
    for fold in task.folds:
        labels = task.target[fold.train]
        # Folds of the same classes are alike, and all folds of numbers are.
        classes = np.unique(task.codes[fold.train]).tobytes() if task.has_classes else b""
        if classes in seen:
            continue
        seen.add(classes)
        tried = np.arange(min(len(labels), _PROBE_ROWS))
        if task.has_classes:
            tried = np.union1d(tried, np.unique(labels, return_index=True)[1])
        rows = fold.train[tried]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fit_weighted(clone(task.estimator), column[rows], task.target[rows], task.weight_at(rows))
            except Exception:  # noqa: BLE001 - whatever it is, the refit raises it again and is listened to
                return False
    return True
