"""Functions that the fold scores of all models share."""

import warnings

from tamiz.assessment.fold_scores import ignore_known_warnings


def test_the_known_warnings_of_scikit_learn_are_hidden_also_while_another_thread_has_emptied_the_filters():
    known = "`sklearn.utils.parallel.delayed` should be used with `sklearn.utils.parallel.Parallel` to make it possible"
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with ignore_known_warnings():
            warnings.resetwarnings()
            for message in (known, "A warning of a model."):
                warnings.warn(message, UserWarning, stacklevel=1)
    assert [str(one.message) for one in shown] == ["A warning of a model."]
