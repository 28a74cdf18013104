"""
Which map keeps the neighbours?
===============================

Every map in two dimensions loses something. The curves say, for neighbourhoods of every size, how many neighbours are
still neighbours on the map, less what chance would keep. Small neighbourhoods are on the left: groups of like rows.
Large ones are on the right: the overall shape.
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
# The maps themselves, coloured by the digit that a row is an image of:

figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for (name, embedding), ax in zip(embeddings.items(), panels, strict=True):
    EmbeddingDisplay.from_embedding(embedding, color=digit, ax=ax)
    ax.set_title(name, loc="left")

# %%
# And all numbers of one of them:

print(quality(X, embeddings["Eigenmaps"], labels=digit))
