"""Cross-validated scores of an estimator for many sets of columns of one table, without refits where its fit is a sum."""

from tamiz.registry import Registry

# A way's name is that of the class of estimators that it is for.
registry = Registry(
    __name__,
    """
    GaussianNB  gaussian_nb:GaussianNBWay  way  Sums of log-likelihoods
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()
