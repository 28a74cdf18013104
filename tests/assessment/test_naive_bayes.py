import warnings

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from tamiz import open_table
from tamiz.exceptions import DataError
from tamiz.models.fold_scorer import score_folds
from tamiz.models.folds import Fold, Folds
from tamiz.models.named_models import resolve_model
from tamiz.models.scoring import resolve_scoring

TABLE = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat([0, 1], 30)[:, None]
LABELS = np.repeat(["no", "yes"], 30)


def test_it_learns_from_the_columns_it_is_given_and_predicts_rows_with_all():
    table = open_table(TABLE, LABELS)
    train, test = np.arange(0, 60, 2), np.arange(1, 60, 2)
    folds, columns = Folds((Fold(train, test),), "even and odd rows"), [1, 3]

    def probability(estimator, rows, y):
        return float(estimator.predict_proba(rows)[7, 1])

    with warnings.catch_warnings():
        # That the other columns take no part was asked for.
        warnings.simplefilter("error")
        found = [
            score_folds(
                resolve_model("naive_bayes", table.schema),
                table,
                folds,
                resolve_scoring(scoring, has_classes=True),
                sets=np.isin(np.arange(4), columns)[None],
            ).values.item()
            for scoring in ("neg_log_loss", probability)
        ]
    theirs = GaussianNB(var_smoothing=0).fit(TABLE[train][:, columns], LABELS[train])
    probabilities = theirs.predict_proba(TABLE[test][:, columns])
    log_loss = -np.log(probabilities[np.arange(30), (LABELS[test] == "yes").astype(int)]).mean()
    np.testing.assert_allclose(found, [-log_loss, probabilities[7, 1]], rtol=1e-9)


def test_a_target_that_is_a_number_is_refused():
    table = open_table(TABLE[:, 1:], TABLE[:, 0])
    with pytest.raises(DataError, match="Naive Bayes needs classes, and the target 'target' is a number"):
        resolve_model("naive_bayes", table.schema)
