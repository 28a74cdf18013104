from tamiz.runtime.registry import Registry
from tamiz._study.study import study as study
from tamiz.assessment import selection_report as selection_report
from tamiz.models.mixed_nb import MixedNB as MixedNB
from tamiz.redundancy_filter import RedundancyFilter as RedundancyFilter
from tamiz.runtime.progress import show_progress as show_progress
from tamiz.selection import RankSelector as RankSelector
from tamiz.selection import SubsetSelector as SubsetSelector
from tamiz.size_search import SizeSearchCV as SizeSearchCV
from tamiz.sources import open_source as open_source
from tamiz.storage.file import load as load
from tamiz.storage.file import save as save

__version__: str
registry: Registry
