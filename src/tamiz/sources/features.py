"""What an estimator remembers of the columns it was fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from tamiz.sources.base import Source
from tamiz.sources.memory import check_matrix, is_frame


def remember(estimator: Any, X: Any) -> None:
    """Set `n_features_in_`, and `feature_names_in_` where the columns have names, as scikit-learn does."""
    if not isinstance(X, Source):
        compare(estimator, X, reset=True)
        return
    estimator.n_features_in_ = X.schema.n_columns
    estimator.feature_names_in_ = np.array(X.schema.names, dtype=object)


def compare(estimator: Any, X: Any, *, reset: bool = False) -> None:
    """Refuse rows of other columns than those of fit; sparse ones are left to the reader's own words."""
    if isinstance(X, Source) or sparse.issparse(X):
        return
    validate_data(estimator, X if is_frame(X) else check_matrix(X), reset=reset, skip_check_array=True)
