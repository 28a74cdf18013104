"""Refits in worker processes, for many short refits."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from joblib import wrap_non_picklable_objects
from sklearn import config_context, get_config

from tamiz.arrays import Indices
from tamiz.models.base import CVTask, FoldRows
from tamiz.models.fit_warnings import FitWarnings
from tamiz.models.scoring import Scoring, score_fitted
from tamiz.runtime import parallel, workers

# The scores by every scoring and the warnings of a refit; None if the refit failed.
RefitScores = tuple[list[float], dict[type[Warning], str]] | None

# Seconds of refits, past and remaining, from which on workers are started: a start takes one to three seconds, nearly all of them
# the import of scikit-learn, on an idle core, and a search is expected to take as long again as it has taken so far.
_MIN_START_SECONDS = 1.0
# Seconds of remaining refits from which on ready workers are used.
_MIN_REQUEST_SECONDS = 0.05
# Seconds per refit from which on most of it runs without the GIL, so that threads are as fast.
_LONG_REFIT_SECONDS = 0.05
# Seconds per request: an interrupt waits for the end of a request.
_REQUEST_SECONDS = 0.25


@dataclass
class RefitWorkers:
    """Worker processes for the refits of a task.

    After a second of refits, one worker fewer than there are threads is started: this process takes its share of the refits, all of
    them until the workers are ready.

    Parameters
    ----------
    task : CVTask
    scorings : tuple of Scoring
    few_rows : bool
        Whether threads slow each other down, however long a refit takes.
    """

    task: CVTask
    scorings: tuple[Scoring, ...]
    few_rows: bool

    def __post_init__(self) -> None:
        self._seconds, self._n_refits = 0.0, 0
        self._pickled_model: bytes | None = None
        self._failed = False

    def record_time(self, seconds: float, n_refits: int) -> None:
        """Add refits done in this process, and the thread seconds that they took."""
        self._seconds += seconds
        self._n_refits += n_refits

    def batch_size(self, n_left: int) -> int:
        """Return the number of refits per batch: several batches for every worker, and few refits if one is slow."""
        if not self._n_refits:
            return 1
        share = max(n_left / (4 * parallel.n_session_threads()), _MIN_REQUEST_SECONDS / self._seconds_per_refit / 4)
        return max(1, int(min(share, _REQUEST_SECONDS / self._seconds_per_refit)))

    @property
    def _seconds_per_refit(self) -> float:
        return max(self._seconds, 1e-9) / max(self._n_refits, 1)

    def are_available(self, n_left: int) -> bool:
        """Return whether workers are ready for the remaining refits; start workers if that pays."""
        n, left = parallel.n_session_threads(), n_left * self._seconds_per_refit
        if (
            self._failed
            or n < 2
            or not self._n_refits
            or not (self.few_rows or self._seconds_per_refit < _LONG_REFIT_SECONDS)
        ):
            return False
        if left > _MIN_REQUEST_SECONDS and workers.are_idle(n - 1):
            return self._is_picklable()
        if self._seconds + left > _MIN_START_SECONDS and workers.can_start(n) and self._is_picklable():
            workers.start(n - 1, pickle.dumps((load_model, (self._pickled_model,))))
        return False

    def _is_picklable(self) -> bool:
        """Return whether the model can be pickled; classes and functions of the user's program are pickled by value."""
        if self._pickled_model is None and not self._failed:
            try:
                model = (self.task.estimator, self.scorings)
                self._pickled_model = pickle.dumps(wrap_non_picklable_objects(model, keep_wrapper=False))
            except Exception:  # noqa: BLE001 - after any error the refits stay in this process
                self._failed = True
        return not self._failed

    def scores(self, rows: FoldRows, sets: Sequence[Indices]) -> list[RefitScores]:
        """Return the scores of refits in a worker, None for refits that this process has to do."""
        try:
            found: list[RefitScores] = workers.call(score_refits, rows, self._pickled_model, sets, get_config())
        except workers.NoIdleWorkerError:
            return [None] * len(sets)
        except workers.WorkerError:
            self._failed = True
            return [None] * len(sets)
        return found


def load_model(model: bytes) -> None:
    """Unpickle a model, which imports the modules that its refits need."""
    pickle.loads(model)


def score_refits(rows: FoldRows, model: bytes, sets: Sequence[Indices], config: dict[str, Any]) -> list[RefitScores]:
    """Return the scores and warnings of refits in a worker; None for a failed one, which the parent repeats to report its error."""
    estimator, scorings = pickle.loads(model)
    fit_warnings = FitWarnings()

    def score(columns: Indices) -> RefitScores:
        try:
            with fit_warnings.record_fit() as found:
                fitted = rows.refit(estimator, columns)
                known = rows.test_target, rows.test_weight, rows.test_metadata
                values = list(score_fitted(scorings, fitted.estimator, fitted.test_rows, *known))
        except Exception:  # noqa: BLE001 - raised again, with its context, by the parent process
            return None
        return values, found

    with config_context(**config), fit_warnings.capture():
        return [score(columns) for columns in sets]
