"""Honest numbers: what a choice of columns is worth on rows that it was not made on."""

from __future__ import annotations

from tamiz.registry import Registry

registry = Registry(
    __name__,
    """
    selection_report      assess:selection_report            function   Apparent and nested cross-validation score of a selection
    SelectionReport       report:SelectionReport             record     Result of selection_report
    stability             set_stability:stability            function   Stability of sets of columns
    compare_columns       columns_compared:compare_columns   function   Effect of a selection on models
    ColumnComparison      columns_compared:ColumnComparison  record     Result of compare_columns
    run_noise_experiment  argument:run_noise_experiment      function   Noise experiment: score as noise columns or copies are added
    NoiseExperiment       argument:NoiseExperiment           record     Result of run_noise_experiment
    recommend_columns     recommendation:recommend_columns   function   Recommended one of several selections
    Recommendation        recommendation:Recommendation      record     Result of recommend_columns
    naive_bayes           naive_bayes:NaiveBayesModel        predictor  Naive Bayes
    knn                   predictors:NearestNeighborsModel   predictor  Nearest neighbours
    tree                  predictors:TreeModel               predictor  Decision tree
    forest                predictors:ForestModel             predictor  Random forest
    logistic              predictors:LogisticModel           predictor  Logistic regression
    ridge                 predictors:RidgeModel              predictor  Ridge regression
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()
