"""
A map from distances alone
==========================

Multidimensional scaling asks for no columns: a table of distances is enough. Here are the great-circle distances of
twelve cities, in kilometres. No one told the method where north is.
"""

import warnings

import numpy as np

from tamiz.comparison import procrustes
from tamiz.display import EmbeddingDisplay
from tamiz.reduction import ClassicalMDS

places = {
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
latitude, longitude = np.radians(list(places.values())).T
directions = np.column_stack(
    [
        np.cos(latitude) * np.cos(longitude),
        np.cos(latitude) * np.sin(longitude),
        np.sin(latitude),
    ]
)
kilometres = 6371 * np.arccos(np.clip(directions @ directions.T, -1, 1))
np.fill_diagonal(kilometres, 0)

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    mds = ClassicalMDS(2, dissimilarity="precomputed").fit(kilometres)

# %%
# A map from distances may lie turned or in a mirror: distances do not say. Procrustes turns it until it lies as an
# atlas would have it.

atlas = np.column_stack([longitude * np.cos(latitude.mean()), latitude])
turned = procrustes(atlas, mds.embedding_).aligned
display = EmbeddingDisplay.from_embedding(
    turned, names=["west to east", "south to north"]
)
display.ax_.margins(x=0.15)
for name, point in zip(places, turned, strict=True):
    display.ax_.annotate(
        name, point, xytext=(5, 3), textcoords="offset points", fontsize=8
    )

# %%
# The cities lie on a globe, and distances along a globe are not those of any flat space. The method says so, and how
# much it is:

print(told[-1].message)
