"""
The optimism of a score
=======================

The table has a thousand columns of noise, a hundred rows and two classes, so no column carries information. The twenty
columns with the strongest association with the classes are selected, and a model on them is scored by cross-validation.
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
    "baseline": report.baseline,
    "apparent: selected\non all rows": report.apparent,
    "nested: selected\nin every fold": report.nested,
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
# The middle line is the apparent score, which is often reported. It is far too good, because the test rows were used for
# the selection of the columns. Nested cross-validation repeats the selection inside every fold on the training rows, and
# its score is near that of chance.

print(report.verdict)
print(f"p = {report.null.p_value:.2f}: selections for shuffled classes score as well.")
