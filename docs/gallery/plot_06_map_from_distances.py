"""
A map from distances alone
==========================

Multidimensional scaling needs no columns, only a matrix of distances. Here it maps twelve cities by their great-circle
distances in kilometres.
"""

import warnings

import numpy as np

from tamiz.comparison import procrustes
from tamiz.display import EmbeddingDisplay
from tamiz.reduction import ClassicalMDS

cities = {
    "Athens": (37.98, 23.73),
    "Berlin": (52.52, 13.40),
    "Bucharest": (44.43, 26.10),
    "Dublin": (53.35, -6.26),
    "Helsinki": (60.17, 24.94),
    "Lisbon": (38.72, -9.14),
    "London": (51.51, -0.13),
    "Madrid": (40.42, -3.70),
    "Oslo": (59.91, 10.75),
    "Paris": (48.86, 2.35),
    "Rome": (41.90, 12.50),
    "Warsaw": (52.23, 21.01),
}
latitude, longitude = np.radians(list(cities.values())).T
directions = np.column_stack(
    [
        np.cos(latitude) * np.cos(longitude),
        np.cos(latitude) * np.sin(longitude),
        np.sin(latitude),
    ]
)
kilometres = 6371 * np.arccos(np.clip(directions @ directions.T, -1, 1))
np.fill_diagonal(kilometres, 0)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    mds = ClassicalMDS(2, dissimilarity="precomputed").fit(kilometres)

# %%
# Distances do not determine the rotation and the reflection of a map. Procrustes analysis aligns it with an atlas.

atlas = np.column_stack([longitude * np.cos(latitude.mean()), latitude])
aligned = procrustes(atlas, mds.embedding_).aligned
display = EmbeddingDisplay.from_embedding(
    aligned, names=["west to east", "south to north"]
)
display.ax_.margins(x=0.15)
for name, point in zip(cities, aligned, strict=True):
    display.ax_.annotate(
        name, point, xytext=(5, 3), textcoords="offset points", fontsize=8
    )

# %%
# Distances on a sphere are not Euclidean. A warning reports by how much:

print(caught[-1].message)
