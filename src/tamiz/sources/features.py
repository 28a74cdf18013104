"""What an estimator remembers of the columns it was fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tamiz.sources.base import Source


def remember(estimator: Any, X: Any) -> None:
    """Set `n_features_in_`, and `feature_names_in_` where the columns have names, as scikit-learn does."""
    if not isinstance(X, Source):
        validate_data(estimator, X, skip_check_array=True)
        return
    estimator.n_features_in_ = X.schema.n_columns
    estimator.feature_names_in_ = np.array(X.schema.names, dtype=object)
