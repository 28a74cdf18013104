"""The general way: fit, and predict."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from tamiz.wrappers.base import Columns, Fitted, Way


class Refits(Way):
    """Every estimator, fitted anew for every set of columns and fold."""

    kind = object
    how = "refits"

    def fitted(self, columns: Columns, fold: int) -> Fitted:
        """Fit a copy of the estimator."""
        task = self.task
        part = task.folds[fold]
        weight = task.weight_in(part.train)
        given: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
        model = clone(task.estimator).fit(
            task.source.frame(columns.tolist(), part.train), task.labels[part.train], **given
        )
        return Fitted(model, task.source.frame(columns.tolist(), part.test))
