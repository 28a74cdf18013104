"""
Unrolling a sheet
=================

Points on a rolled sheet are near each other along the sheet, or across the gap between two of its turns. Laplacian
eigenmaps join each point to its nearest neighbours and look for coordinates that change little along these edges. How
many neighbours, and how much a long edge counts, decides whether the sheet is unrolled.
"""

import numpy as np
from sklearn.datasets import make_swiss_roll

from tamiz.comparison import eigenmap_grid

X, along = make_swiss_roll(400, random_state=1)
grid = eigenmap_grid(X, n_neighbors=[5, 10, 15], t=[5, 25, np.inf])
figure = grid.plot(along, color_label="along the roll")

# %%
# The colour is the place along the sheet. With five neighbours no edge jumps from one turn to the next, and the first
# coordinate follows the sheet. With fifteen some do; a narrow heat kernel (t = 5) still passes over them, because they
# are long. More in :doc:`/laplacian-eigenmaps`.
