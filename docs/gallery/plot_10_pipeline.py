"""
A selection inside a pipeline
=============================

Selectors are scikit-learn transformers. In a :class:`~sklearn.pipeline.Pipeline` the columns are selected again on the
training rows of every fold. A grid search chooses the criterion and the number of columns.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamiz import RankSelector
from tamiz.criteria import FisherScore, InformationGain, Variance

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = make_pipeline(
    RankSelector(InformationGain()), StandardScaler(), KNeighborsClassifier()
)
criteria, sizes = (
    [InformationGain(), FisherScore(), Variance()],
    [1, 2, 3, 5, 10, 20, 30],
)
grid = GridSearchCV(
    model,
    {"rankselector__relevance": criteria, "rankselector__n_features": sizes},
    cv=5,
).fit(X, y)

# %%
# No score uses rows on which the columns were selected.

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for criterion in criteria:
    tried = [
        asked["rankselector__relevance"] is criterion
        for asked in grid.cv_results_["params"]
    ]
    ax.plot(
        sizes,
        grid.cv_results_["mean_test_score"][tried],
        "o-",
        label=type(criterion).__name__,
    )
ax.set(xlabel="Columns kept", ylabel="Accuracy of 5 nearest neighbours")
ax.legend(frameon=False)

# %%
# A few informative columns score nearly as well as all thirty. The variance of a column depends on its unit, and the
# columns with the largest variances are redundant.

print(
    grid.best_params_["rankselector__n_features"],
    f"columns, accuracy {grid.best_score_:.3f}",
)
