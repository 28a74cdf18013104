"""
What a Shepard diagram shows
============================

A point for every pair of rows: how far apart they are in the table, and on the map. Metric MDS wants them on a straight
line. Ordinal MDS is content with a line that never falls: it keeps the order of the distances, and finds a map with
less stress.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from tamiz.display import ShepardDisplay
from tamiz.reduction import MDS

X = scale(load_wine().data)
figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for kind, ax in zip(("metric", "ordinal"), panels, strict=True):
    mds = MDS(kind=kind).fit(X)
    ShepardDisplay.from_estimator(mds, ax=ax)
    ax.set_title(f"{kind}: stress {mds.stress_:.3f}", loc="left")

# %%
# A pair far below the line is drawn too near, one far above it too far apart. Where the cloud is wide, small distances
# on the map say little.
