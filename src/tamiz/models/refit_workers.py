"""Refits in worker processes, where they are short and there are many."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from joblib import wrap_non_picklable_objects
from sklearn import config_context, get_config

from tamiz.models.base import ColumnIndices, CVTask, FoldRows
from tamiz.models.fit_warnings import FitWarnings
from tamiz.runtime import parallel, workers

# A score, and what its refit warned of; None where it failed.
RefitScore = tuple[float, dict[type[Warning], str]] | None

# Seconds of refits, done and known to come, that are worth a start of workers: each takes one to three of a core, and a search goes
# on for about as long as it has taken so far.
_MIN_START_SECONDS = 3.0
# Seconds that are worth a request, where workers are ready.
_MIN_REQUEST_SECONDS = 0.05
# Seconds of a refit from which on most of it is not Python's work, and threads do as well.
_LONG_REFIT_SECONDS = 0.05
# Seconds that one request may take: an interrupt waits for its end.
_REQUEST_SECONDS = 0.25


@dataclass
class RefitWorkers:
    """Worker processes for the refits of a task.

    They are started when refits have taken a while and go on, get ready while the refits do, and are then given the rest.

    Parameters
    ----------
    task : Task
    few_rows : bool
        Whether threads hinder each other however long a refit takes.
    """

    task: CVTask
    few_rows: bool

    def __post_init__(self) -> None:
        self._seconds, self._n_refits = 0.0, 0
        self._pickled_model: bytes | None = None
        self._failed = False

    def record_time(self, seconds: float, n_refits: int) -> None:
        """Count refits that this process has done, and the time of one thread that they took."""
        self._seconds += seconds
        self._n_refits += n_refits

    def batch_size(self, n_left: int) -> int:
        """Return how many of the refits that are left to do at a time: some for every worker, and few where one takes long."""
        if not self._n_refits:
            return 1
        share = max(n_left / (4 * parallel.n_session_threads()), _MIN_REQUEST_SECONDS / self._seconds_per_refit / 4)
        return max(1, int(min(share, _REQUEST_SECONDS / self._seconds_per_refit)))

    @property
    def _seconds_per_refit(self) -> float:
        return max(self._seconds, 1e-9) / max(self._n_refits, 1)

    def are_ready(self, n_left: int) -> bool:
        """Return whether workers are there for so many refits; start them where that is worth it."""
        n, left = parallel.n_session_threads(), n_left * self._seconds_per_refit
        if (
            self._failed
            or n < 2
            or not self._n_refits
            or not (self.few_rows or self._seconds_per_refit < _LONG_REFIT_SECONDS)
        ):
            return False
        if left > _MIN_REQUEST_SECONDS and workers.are_idle(n):
            return self._is_picklable()
        if self._seconds + left > _MIN_START_SECONDS and workers.can_start(n) and self._is_picklable():
            workers.start(n, pickle.dumps((load_model, (self._pickled_model,))))
        return False

    def _is_picklable(self) -> bool:
        """Whether another process can read the model; classes and functions of the user's program travel as a whole."""
        if self._pickled_model is None and not self._failed:
            try:
                given = (self.task.estimator, self.task.scoring)
                self._pickled_model = pickle.dumps(wrap_non_picklable_objects(given, keep_wrapper=False))
            except Exception:  # noqa: BLE001 - whatever it is, the model stays here
                self._failed = True
        return not self._failed

    def scores(self, rows: FoldRows, sets: Sequence[ColumnIndices]) -> list[RefitScore]:
        """Return the scores of refits in a worker, None for those that are to be done here."""
        try:
            found: list[RefitScore] = workers.call(score_refits, rows, self._pickled_model, sets, get_config())
        except workers.WorkerError:
            self._failed = True
            return [None] * len(sets)
        return found


def load_model(model: bytes) -> None:
    """Load what refits need."""
    pickle.loads(model)


def score_refits(
    rows: FoldRows, model: bytes, sets: Sequence[ColumnIndices], config: dict[str, Any]
) -> list[RefitScore]:
    """Return what refits score and warn of in a worker; None where one fails, and fails again where it is reported."""
    estimator, scoring = pickle.loads(model)
    warned = FitWarnings()

    def score(columns: ColumnIndices) -> RefitScore:
        try:
            with warned.record_fit() as found:
                fitted = rows.refit(estimator, columns)
                value = scoring.score(fitted.estimator, fitted.test_rows, rows.test_target, rows.test_weight)
        except Exception:  # noqa: BLE001 - raised again, with its place, by the process that asked
            return None
        return value, found

    with config_context(**config), warned.capture():
        return [score(columns) for columns in sets]
