"""Honest numbers: what a choice of columns is worth on rows that it was not made on."""

from __future__ import annotations

from tamiz.registry import Registry

registry = Registry(
    __name__,
    """
    selection_report  assess:selection_report     function   How far the score of a selection can be trusted
    SelectionReport   report:SelectionReport      record     What selection_report returns
    stability         set_stability:stability     function   How much sets of columns are alike
    compare_columns   columns_compared:compare_columns   function  What a choice of columns buys
    ColumnComparison  columns_compared:ColumnComparison  record    What compare_columns returns
    added_columns     argument:added_columns      function   What columns that tell nothing new cost
    AddedColumns      argument:AddedColumns       record     What added_columns returns
    recommend_columns recommendation:recommend_columns  function  Which of several selections to keep
    Recommendation    recommendation:Recommendation     record    What recommend_columns returns
    naive_bayes       naive_bayes:NaiveBayes      predictor  Naive Bayes
    knn               predictors:NearestRows      predictor  Nearest neighbours
    tree              predictors:Tree             predictor  Decision tree
    forest            predictors:Forest           predictor  Random forest
    logistic          predictors:Logistic         predictor  Logistic regression
    ridge             predictors:RidgeRegression  predictor  Ridge regression
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()
