"""
Unrolling a sheet
=================

Points on a rolled sheet (a Swiss roll) are near each other along the sheet, or across two of its layers. Laplacian
eigenmaps connect each point with its nearest neighbours and find coordinates that change little along these edges. The
number of neighbours and the weights of long edges determine whether the sheet is unrolled.
"""

import numpy as np
from sklearn.datasets import make_swiss_roll

from tamiz.comparison import parameter_sweep
from tamiz.reduction import LaplacianEigenmaps

X, along = make_swiss_roll(400, random_state=1)
sweep = parameter_sweep(
    X, LaplacianEigenmaps(), {"n_neighbors": [5, 10, 15], "t": [5, 25, np.inf]}
)
figure = sweep.plot(along, color_label="along the roll")

# %%
# The colour is the position along the sheet. With five neighbours no edge connects two layers, and the first coordinate
# follows the sheet. With fifteen neighbours some edges do. A narrow heat kernel (t = 5) gives these long edges small
# weights. More in :doc:`/laplacian-eigenmaps`.
