"""Comparison of maps of the same rows: quality and cost, grids of parameters, Procrustes analysis, permutation tests, stress."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    compare_maps          maps:compare_maps                        function  Quality and cost of several maps
    parameter_sweep       maps:parameter_sweep                     function  Maps over one or two parameters
    columns_to_drop       kept_columns:columns_to_drop             function  Columns to drop
    procrustes            alignment:procrustes                     function  Procrustes analysis
    procrustes_test       alignment:procrustes_test                function  Procrustes permutation test
    stress_by_dimensions  stress:stress_by_dimensions  function  Stress by number of dimensions
    stress_test           stress:stress_test           function  Stress permutation test
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()
