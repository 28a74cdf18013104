"""
A filter and a wrapper
======================

A filter such as CFS reads a set of columns off the table: columns that go with the class and not with each other. A
wrapper asks a model. Both are merits, and any search takes either. Here 30 measurements of 569 tumours are searched
twice.
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
# Every grey point is a set of columns that the search looked at, and every step of the line adds a column. The filter
# goes on as long as a column tells something new. The wrapper stops where the model makes no fewer mistakes.

for selector in (by_filter, by_wrapper):
    print(
        f"{selector.merit_name_}, {selector.merit_:.3f}: {', '.join(selector.get_feature_names_out())}"
    )

# %%
# The wrapper did not fit a model for every set: log-likelihoods under naive Bayes are sums over columns, and a column
# is added to them.

print(by_wrapper.merit_method_)
