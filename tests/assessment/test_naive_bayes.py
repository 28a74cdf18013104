import warnings

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from tamiz import open_source
from tamiz.assessment.predictors import NaiveBayesModel
from tamiz.exceptions import DataError
from tamiz.sources.views import select_rows

TABLE = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat([0, 1], 30)[:, None]
LABELS = np.repeat(["no", "yes"], 30)


def test_it_learns_from_the_columns_it_is_given_and_predicts_rows_with_all():
    source = open_source(TABLE, LABELS)
    train, test = np.arange(0, 60, 2), np.arange(1, 60, 2)
    with warnings.catch_warnings():
        # That the other columns take no part was asked for.
        warnings.simplefilter("error")
        learned = NaiveBayesModel().fit_columns(select_rows(source, train), [1, 3], 0)
        found = learned.estimator.predict_proba(learned.prepare_rows(select_rows(source, test)))
    theirs = GaussianNB(var_smoothing=0).fit(TABLE[train][:, [1, 3]], LABELS[train])
    np.testing.assert_allclose(found, theirs.predict_proba(TABLE[test][:, [1, 3]]), rtol=1e-9, atol=1e-12)
    assert learned.estimator.classes_.tolist() == ["no", "yes"]


def test_a_target_that_is_a_number_is_refused():
    source = open_source(TABLE[:, 1:], TABLE[:, 0])
    with pytest.raises(DataError, match="Naive Bayes needs classes, and the target 'target' is a number"):
        NaiveBayesModel().check(source.schema)
