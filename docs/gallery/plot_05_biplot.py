"""
A biplot: rows and columns in one plot
======================================

Principal components are directions of largest variance. In a biplot rows are points and columns are arrows: rows
further along an arrow have larger values of its column. The units of 13 measurements of 178 wines differ, so the
columns are standardised.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_wine

from tamiz.display import EigenvalueDisplay, EmbeddingDisplay
from tamiz.reduction import PCA, axis_correlations

wine = load_wine(as_frame=True)
pca = PCA(5, standardize=True).fit(wine.data)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=(3, 2)
)
cultivar = wine.target_names[wine.target]
EmbeddingDisplay.from_estimator(
    pca, color=cultivar, color_label="cultivar", loadings=True, ax=left
)
display = EigenvalueDisplay.from_estimator(pca, ax=right)

# %%
# Parallel analysis compares the variances of the components with those of tables with independent columns. It keeps the
# components with larger variances:

print(pca.parallel_analysis().n_components)

# %%
# The column with the largest rank correlation with each axis:

explained = axis_correlations(wine.data, pca.embedding_)
for axis in range(2):
    correlations = explained.values[:, axis]
    column = abs(correlations).argmax()
    print(
        f"PC {axis + 1}: {explained.columns[column]}, rank correlation {correlations[column]:.2f}"
    )
