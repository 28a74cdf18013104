from tamiz.registry import Registry
from tamiz.comparison.grid import eigenmap_grid as eigenmap_grid

registry: Registry
