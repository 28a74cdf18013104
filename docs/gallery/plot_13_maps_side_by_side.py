"""
Maps side by side
=================

Eight maps of a rolled sheet (a Swiss roll) with one search of the neighbours. The colour is the position along the sheet:
a map that unrolls it shows the colours in order.
"""

from sklearn.datasets import make_swiss_roll

from tamiz.comparison import compare_maps
from tamiz.reduction import (
    PCA,
    TSNE,
    UMAP,
    Autoencoder,
    ClassicalMDS,
    Isomap,
    LaplacianEigenmaps,
    LocallyLinearEmbedding,
)

X, along = make_swiss_roll(1000, random_state=0)
maps = {
    "PCA": PCA(2),
    "Classical MDS": ClassicalMDS(2),
    "Autoencoder": Autoencoder(2, random_state=0),
    "Isomap": Isomap(2),
    "LTSA": LocallyLinearEmbedding(2, method="ltsa"),
    "Laplacian eigenmaps": LaplacianEigenmaps(2),
    "t-SNE": TSNE(random_state=0),
    "UMAP": UMAP(random_state=0),
}
compared = compare_maps(X, maps)
figure = compared.plot(along, color_label="along the roll")

# %%
# Isomap and local tangent space alignment recover the sheet. PCA and classical MDS show the roll from the side, because
# they preserve distances through the air between its layers. t-SNE and UMAP preserve neighbours and tear the sheet.
# The measures compare the maps with the distances in space, so that a map that unrolls the sheet has a high stress and a
# high trustworthiness.
print(compared)
