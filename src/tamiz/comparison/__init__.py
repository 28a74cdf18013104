"""Comparison of maps of the same rows: grids, Procrustes analysis, permutation tests, stress by dimension."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    columns_to_drop       kept_columns:columns_to_drop     function  Columns to drop
    eigenmap_grid         grid:eigenmap_grid               function  Laplacian eigenmaps by neighbours and heat-kernel width
    procrustes            alignment:procrustes             function  Procrustes analysis
    procrustes_test       alignment:procrustes_test        function  Procrustes permutation test
    stress_by_dimensions  dimensions:stress_by_dimensions  function  Stress by number of dimensions
    stress_test           stress_permutation:stress_test   function  Stress permutation test
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()
