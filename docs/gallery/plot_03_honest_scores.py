"""
How much of a score is luck?
============================

A thousand columns of noise, a hundred rows, two classes: there is nothing to find. Twenty columns are chosen that go
best with the classes, and a model is tested on them by cross-validation.
"""

import numpy as np
from matplotlib import pyplot as plt

from tamiz import RankSelector, selection_report
from tamiz.criteria import FisherScore

rng = np.random.default_rng(0)
noise, classes = rng.normal(size=(100, 1000)), np.arange(100) % 2
report = selection_report(
    RankSelector(FisherScore(), n_features=20), noise, classes, n_permutations=99
)

kinds = {
    "no column": report.baseline,
    "chosen by all rows,\nthen cross-validated": report.apparent,
    "chosen anew in every fold": report.nested,
}
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for height, scores in enumerate(kinds.values()):
    ax.plot(
        scores.values,
        np.full(len(scores.values), height),
        "o",
        color="#a3adb3",
        alpha=0.6,
    )
    ax.plot(scores.mean, height, "|", color="#20272c", markersize=22, markeredgewidth=3)
ax.axvline(0.5, color="#5d6970", linestyle="--", linewidth=1)
ax.set(
    yticks=range(3),
    yticklabels=kinds,
    xlabel="Accuracy of a fold (points) and their mean (bar)",
    xlim=(0, 1.03),
    ylim=(2.5, -0.5),
)
for side in ("top", "right", "left"):
    ax.spines[side].set_visible(False)

# %%
# The middle line is what most reports give. The rows that are tested took part in the choice of the columns, so that
# the score is far too good. Where the search is repeated inside every fold, on the rows that are not tested, nothing is
# left of it.

print(report.verdict)
print(
    f"p = {report.null.p_value:.2f}: what the same search finds on shuffled classes is as good."
)
