"""
A map saved, and tomorrow's rows on it
======================================

A fitted map is written to one file, which holds numbers and no code. Read again, it gives new rows a place among the
old ones.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_wine

from tamiz import load, save
from tamiz.display import EmbeddingDisplay
from tamiz.reduction import MDS

wine = load_wine(as_frame=True)
cultivar = wine.target_names[wine.target]
new = np.arange(len(wine.data)) % 12 == 0
today, tomorrow = wine.data[~new], wine.data[new]
scaled = MDS(dissimilarity="gower").fit(today)

with TemporaryDirectory() as folder:
    path = save(scaled, Path(folder) / "wines.tamiz")
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    read = load(path)

# %%
# A new row is put where its distances to the old ones are as near as can be to what they are in the table. The rings
# are new wines, and the number in each is that of its cultivar; the map was not told.

display = EmbeddingDisplay.from_estimator(
    read, color=cultivar[~new], color_label="cultivar"
)
placed = read.transform(tomorrow)
display.ax_.plot(
    *placed.T, "o", markersize=13, markerfacecolor="white", markeredgecolor="black"
)
for point, name in zip(placed, cultivar[new], strict=True):
    display.ax_.annotate(name[-1], point, ha="center", va="center", fontsize=8)

# %%
# How well does the map suit a new row? The reliability is the share of the old rows that have no better place: near 0,
# a row has no place in this map. And the map that was read says the same as the one that was saved, to the bit.

print(read.place(tomorrow).reliability.round(2))
print((placed == scaled.transform(tomorrow)).all())
