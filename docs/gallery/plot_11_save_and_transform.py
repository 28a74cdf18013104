"""
Save a map and map new rows
===========================

A fitted map is saved to one file, which contains numbers and no code. The loaded map transforms new rows.
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
    loaded = load(path)

# %%
# The coordinates of a new row minimise its stress: the deviation of its distances on the map from its distances in the
# table to the fitted rows. The rings are new wines, and the number in each is its cultivar, which the map does not use.

display = EmbeddingDisplay.from_estimator(
    loaded, color=cultivar[~new], color_label="cultivar"
)
mapped = loaded.transform(tomorrow)
display.ax_.plot(
    *mapped.T, "o", markersize=13, markerfacecolor="white", markeredgecolor="black"
)
for point, name in zip(mapped, cultivar[new], strict=True):
    display.ax_.annotate(name[-1], point, ha="center", va="center", fontsize=8)

# %%
# The reliability of a new row is the share of the fitted rows whose stress is at least as large. A row with a reliability
# near 0 does not fit the map. The loaded map returns the same coordinates as the saved one, to the bit.

print(loaded.map_rows(tomorrow).reliability.round(2))
print((mapped == scaled.transform(tomorrow)).all())
