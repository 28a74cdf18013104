"""Cross-validated scores of an estimator for many sets of columns of one table, without refits where its fit is a sum."""

from tamiz.registry import Registry

# A way's name is that of the class of estimators that it is for; a model's is what a user calls it by.
registry = Registry(
    __name__,
    """
    GaussianNB                  gaussian_nb:GaussianNBBackend           backend    Sums of log-likelihoods
    CategoricalNB               categorical_nb:CategoricalNBBackend     backend    Sums of log-likelihoods
    MultinomialNB               multinomial_nb:MultinomialNBBackend     backend    Sums of counts and their logarithms
    BernoulliNB                 bernoulli_nb:BernoulliNBBackend         backend    Sums of log-likelihoods
    MixedNB                     mixed_nb:MixedNBBackend                 backend    Sums of log-likelihoods
    mixed_bayes                 mixed_nb:MixedNB                        estimator  Naive Bayes on mixed columns
    KNeighborsClassifier        neighbors:KNeighborsClassifierBackend   backend    Sums of squared differences
    KNeighborsRegressor         neighbors:KNeighborsRegressorBackend    backend    Sums of squared differences
    LinearRegression            linear:LinearRegressionBackend          backend    Products of columns
    Ridge                       linear:RidgeBackend                     backend    Products of columns
    LinearDiscriminantAnalysis  discriminant:LinearDiscriminantBackend  backend    Products of columns within classes
    gaussian_nb                 models:make_gaussian_nb                 model      Gaussian naive Bayes
    mixed_nb                    models:make_mixed_nb                    model      Naive Bayes
    knn                         models:make_knn                         model      Nearest neighbours
    linear                      models:make_linear                      model      Linear model
    ridge                       models:make_ridge                       model      Ridge regression
    logistic                    models:make_logistic                    model      Logistic regression
    tree                        models:make_tree                        model      Decision tree
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()
