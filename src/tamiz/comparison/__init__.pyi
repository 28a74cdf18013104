from tamiz.runtime.registry import Registry
from tamiz.comparison.alignment import procrustes as procrustes
from tamiz.comparison.alignment import procrustes_test as procrustes_test
from tamiz.comparison.kept_columns import columns_to_drop as columns_to_drop
from tamiz.comparison.maps import compare_maps as compare_maps
from tamiz.comparison.maps import parameter_sweep as parameter_sweep
from tamiz.comparison.stress import stress_by_dimensions as stress_by_dimensions
from tamiz.comparison.stress import stress_test as stress_test

registry: Registry
