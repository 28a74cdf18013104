"""Named models, and the scores of a model on column sets in every fold, without refits where a fold backend exists."""

from tamiz.runtime.registry import Registry

# A backend is listed under the name of the scikit-learn class; a model under the name that users pass.
registry = Registry(
    __name__,
    """
    GaussianNB                  naive_bayes:GaussianNBBackend            backend    Sums of log-likelihoods
    CategoricalNB               naive_bayes:CategoricalNBBackend         backend    Sums of log-likelihoods
    MultinomialNB               naive_bayes:MultinomialNBBackend         backend    Sums of counts and their logarithms
    BernoulliNB                 naive_bayes:BernoulliNBBackend           backend    Sums of log-likelihoods
    MixedNB                     naive_bayes:MixedNBBackend               backend    Sums of log-likelihoods
    mixed_bayes                 mixed_nb:MixedNB                         estimator  Naive Bayes on mixed columns
    KNeighborsClassifier        knn:KNeighborsClassifierBackend          backend    Sums of squared differences
    KNeighborsRegressor         knn:KNeighborsRegressorBackend           backend    Sums of squared differences
    LinearRegression            linear:LinearRegressionBackend           backend    Products of columns
    Ridge                       linear:RidgeBackend                      backend    Products of columns
    LinearDiscriminantAnalysis  linear:LinearDiscriminantBackend         backend    Products of columns within classes
    gaussian_nb                 named_models:make_gaussian_nb            model      Gaussian naive Bayes
    naive_bayes                 named_models:make_naive_bayes            model      Naive Bayes
    knn                         named_models:make_knn                    model      Nearest neighbours
    linear                      named_models:make_linear                 model      Linear model
    ridge                       named_models:make_ridge                  model      Ridge regression
    logistic                    named_models:make_logistic               model      Logistic regression
    tree                        named_models:make_tree                   model      Decision tree
    forest                      named_models:make_forest                 model      Random forest
    gradient_boosting           named_models:make_gradient_boosting      model      Gradient boosting
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()
