"""
Shepard diagrams of metric and ordinal MDS
==========================================

A Shepard diagram has a point for every pair of rows: their distance in the table and on the map. Metric MDS fits the
points to a straight line. Ordinal MDS fits them to a monotone curve: it preserves only the order of the distances, and
finds a map with a lower stress.
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
# A pair far below the line is too near on the map, a pair far above it too far apart. Where the cloud is wide, distances
# on the map are unreliable.
