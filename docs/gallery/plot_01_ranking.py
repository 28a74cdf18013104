"""
Rank columns by their information about a class
===============================================

A relevance scores every column by itself. :class:`~tamiz.criteria.InformationGain` is the information of a column about
the class, in bits. Numeric columns are discretised first by the minimum description length principle.
"""

import pandas as pd
from sklearn.datasets import load_iris

from tamiz import RankSelector
from tamiz.criteria import FisherScore, InformationGain, SymmetricUncertainty, Variance
from tamiz.display import RankingDisplay

X, species = load_iris(return_X_y=True, as_frame=True)
selector = RankSelector(InformationGain(), n_features=2).fit(X, species)
display = RankingDisplay.from_estimator(selector)
display.ax_.set_title("Two columns of iris are kept", loc="left")

# %%
# The entropy of the classes is log2(3) = 1.58 bits, so petal length contains nearly all information about them. Scores of
# other criteria have different units, but their order can be compared. The variance does not use the class.

criteria = [InformationGain(), SymmetricUncertainty(), FisherScore(), Variance()]
scores = {
    type(criterion).__name__: RankSelector(criterion).fit(X, species).scores_
    for criterion in criteria
}
pd.DataFrame(scores, index=X.columns).round(3)
