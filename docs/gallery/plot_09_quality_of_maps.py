"""
Which map preserves the neighbours?
===================================

The curves show, for neighbourhoods of every size, the share of neighbours that are still neighbours on the map,
corrected for chance. Small neighbourhoods on the left describe groups of similar rows, large ones on the right the
overall shape.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from tamiz.display import EmbeddingDisplay, QualityDisplay
from tamiz.metrics import quality
from tamiz.reduction import MDS, PCA, LaplacianEigenmaps

X, digit = load_digits(return_X_y=True)
X, digit = X[:800], digit[:800]
maps = {"PCA": PCA(2), "MDS": MDS(), "Eigenmaps": LaplacianEigenmaps(2)}
embeddings = {name: method.fit_transform(X) for name, method in maps.items()}
display = QualityDisplay.from_embeddings(X, embeddings)

# %%
# The maps, coloured by the digit of each row:

figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for (name, embedding), ax in zip(embeddings.items(), panels, strict=True):
    EmbeddingDisplay.from_embedding(embedding, color=digit, ax=ax)
    ax.set_title(name, loc="left")

# %%
# All measures of quality of one map:

print(quality(X, embeddings["Eigenmaps"], labels=digit))
