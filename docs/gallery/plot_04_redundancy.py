"""
Redundant columns
=================

The symmetric uncertainty of two columns is 1 where each determines the other, and 0 where they are independent. The
matrix of all pairs shows which of 30 measurements are redundant. CFS selects few columns of each group.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import KBinsDiscretizer

from tamiz import SubsetSelector
from tamiz.criteria import CFS, symmetric_uncertainty
from tamiz.search import BestFirst

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
bins = KBinsDiscretizer(
    5, encode="ordinal", quantile_method="averaged_inverted_cdf"
).fit_transform(X)
p = X.shape[1]
shared = np.array(
    [
        [symmetric_uncertainty(bins[:, i], bins[:, j]) for j in range(p)]
        for i in range(p)
    ]
)

# %%
# Columns are ordered by hierarchical clustering. The columns that CFS selects are in bold.

order = leaves_list(linkage(squareform(1 - shared, checks=False), "average"))
kept = SubsetSelector(CFS(), BestFirst()).fit(X, y).get_support()

figure, ax = plt.subplots(figsize=(8, 7), layout="constrained")
image = ax.imshow(shared[np.ix_(order, order)], vmin=0, vmax=1, cmap="Blues")
ax.set(xticks=[], yticks=range(p), yticklabels=X.columns[order])
for label, column in zip(ax.get_yticklabels(), order, strict=True):
    label.set(fontweight="bold" if kept[column] else "normal", fontsize=8)
bar = figure.colorbar(image, label="Symmetric uncertainty of two columns", shrink=0.6)

# %%
# Radius, perimeter and area form one block: six measurements of the size of a cell. A study reports such groups:
# :doc:`/redundancy`.
