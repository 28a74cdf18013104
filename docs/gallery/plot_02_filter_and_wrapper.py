"""
A filter and a wrapper
======================

A filter such as CFS prefers columns that are associated with the class and not with each other. A wrapper scores a
subset by a model. Both are merits, and any search accepts either. Here the subsets of 30 measurements of 569 tumours are
searched by both.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

from tamiz import SubsetSelector
from tamiz.criteria import CFS, CrossValidated
from tamiz.display import SearchDisplay
from tamiz.search import Forward

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
by_filter = SubsetSelector(CFS(), Forward()).fit(X, y)
by_wrapper = SubsetSelector(CrossValidated(GaussianNB(), cv=10), Forward()).fit(X, y)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
SearchDisplay.from_estimator(by_filter, ax=left)
display = SearchDisplay.from_estimator(by_wrapper, ax=right)

# %%
# Every grey point is an evaluated subset, and every step of the line adds a column. The filter adds columns as long as
# they contribute new information. The wrapper stops when no column improves the score of the model.

for selector in (by_filter, by_wrapper):
    print(
        f"{selector.merit_name_}, {selector.merit_:.3f}: {', '.join(selector.get_feature_names_out())}"
    )

# %%
# The wrapper did not fit a model for every subset: log-likelihoods of naive Bayes are sums over columns, so adding a
# column adds one term.

print(by_wrapper.merit_method_)
