from tamiz.runtime.registry import Registry
from tamiz._study.study import study as study
from tamiz.assessment import selection_report as selection_report
from tamiz.assessment.column_ranking import rank as rank
from tamiz.comparison.maps import compare as compare
from tamiz.drift.tables import compare_tables as compare_tables
from tamiz.models.mixed_nb import MixedNB as MixedNB
from tamiz.onnx_converters import register_onnx_converters as register_onnx_converters
from tamiz.runtime.progress import show_progress as show_progress
from tamiz.selection.rank_selector import RankSelector as RankSelector
from tamiz.selection.redundancy_filter import RedundancyFilter as RedundancyFilter
from tamiz.selection.size_search import SizeSearchCV as SizeSearchCV
from tamiz.selection.subset_selector import SubsetSelector as SubsetSelector
from tamiz.storage.file import load as load
from tamiz.storage.file import save as save
from tamiz.storage.records import skops_trusted_types as skops_trusted_types
from tamiz.table import open_table as open_table

__version__: str
registry: Registry
